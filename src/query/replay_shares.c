/* SPDX-License-Identifier: MIT */
#include "query/replay_shares.h"

#include "query/query_internal.h"

void shares_done(struct replay_shares *h) {
        vec_free(&h->items);
        vec_free(&h->paths);
        vec_free(&h->gains);
        map_done(&h->share_of);
        map_done(&h->path_of);
}

static struct replay_path *path_at(const struct replay_shares *h, uint32_t stack) {
        uint64_t place;

        return map_get(&h->path_of, stack, &place) ? &h->paths.items[place] : NULL;
}

static struct replay_share *share_at(struct replay_shares *h, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t place =
                *map_put(&h->share_of, (uint64_t)process << 32 | stack, h->items.n, &added);
        struct replay_path *path;

        if (!added)
                return &h->items.items[place];
        if (*map_put(&h->path_of, stack, h->paths.n, &added) == h->paths.n && added)
                vec_push(&h->paths, (struct replay_path){.first_ns = UINT64_MAX});
        path = path_at(h, stack);
        vec_push(&h->items,
                 (struct replay_share){.process = process, .stack = stack, .next = path->first});
        path->first = h->items.n;
        return &h->items.items[place];
}

void shares_add_row(struct replay_shares *h, const struct trace_site *row) {
        struct replay_share *x;
        struct replay_path *path;

        if (row->process >= h->s->n_processes ||
            (row->n_inherited_frees == 0 && row->inherited_free_bytes == 0))
                return;
        x = share_at(h, row->process, row->stack);
        x->n = row->n_inherited_frees;
        x->bytes = row->inherited_free_bytes;
        path = path_at(h, row->stack);
        path->n_less -= (int64_t)x->n;
        path->less_bytes -= (int64_t)x->bytes;
}

/* ---- the slice's events ------------------------------------------------------------------------ */

static void see_release(struct replay_shares *h, const struct trace_event *e, uint32_t process,
                        uint32_t stack, uint64_t seq, uint64_t n, uint64_t bytes) {
        struct replay_path *path = path_at(h, stack);
        struct replay_share *x;

        if (!path || seq >= h->q->inherit.first_seq[process])
                return;
        h->q->inherit.is_unsure |= seq >= h->q->inherit.unsure_seq[process];
        x = share_at(h, process, stack);
        x->n_released += n;
        x->released_bytes += bytes;
        path->n_less += (int64_t)n;
        path->less_bytes += (int64_t)bytes;
        path->n_releases++;
        path->first_ns = MIN(path->first_ns, e->time_ns);
        path->last_ns = MAX(path->last_ns, e->time_ns);
}

static void see_ends(struct replay_shares *h, const struct trace_slice_info *info) {
        h->end_ns = info->end_ns;
        h->first_end_ns = UINT64_MAX;
        for (uint32_t p = 0; p < h->q->view->n_processes; p++) {
                uint64_t gone_ns = query_process_gone_ns(h->q, p);

                if (gone_ns < info->begin_ns || gone_ns >= info->end_ns)
                        continue;
                h->first_end_ns = MIN(h->first_end_ns, gone_ns);
                h->last_end_ns = MAX(h->last_end_ns, gone_ns);
        }
}

void shares_add_events(struct replay_shares *h, const struct trace_slice_info *info,
                       const struct trace_event *events, size_t n) {
        if (h->items.n == 0)
                return;
        see_ends(h, info);
        h->goes_on = n > 0 && events[n - 1].time_ns > h->first_end_ns;
        for (size_t i = 0; i < n; i++) {
                const struct trace_event *e = &events[i];
                uint32_t process = query_event_process(h->q, e);

                if (process >= h->s->n_processes)
                        continue;
                if (e->op == TRACE_FREE ||
                    (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                        see_release(h, e, process, e->stack, e->seq, e->n_blocks,
                                    trace_event_bytes(e));
                if (e->op == TRACE_REALLOC)
                        see_release(h, e, process, e->old_stack, e->old_seq, e->old_n_blocks,
                                    trace_event_old_bytes(e));
        }
}

/* ---- what is known ----------------------------------------------------------------------------- */

/* Between its first release and its last, or, where more passed on than was released, the slice's end. */
static bool path_is_unsure(const struct replay_shares *h, const struct replay_path *p,
                           const struct replay_limits *limits) {
        bool is_even = p->n_less == 0 && p->less_bytes == 0,
             passes_on = p->n_less < 0 || p->less_bytes < 0;

        if (p->n_releases == 0 || is_even || (p->n_releases == 1 && !passes_on))
                return false;
        return p->first_ns < limits->before_ns &&
               (passes_on ? h->end_ns : p->last_ns) >= limits->seen_from_ns;
}

void shares_check(const struct replay_shares *h, const struct replay_limits *limits) {
        for (size_t i = 0; i < h->paths.n; i++) {
                const struct replay_path *p = &h->paths.items[i];

                /* several ended, and nobody wrote down at which moment it passed on */
                h->q->inherit.is_unsure |= p->n_releases == 0 && h->goes_on &&
                                           h->first_end_ns < limits->before_ns &&
                                           h->end_ns >= limits->seen_from_ns;
                h->q->inherit.is_unsure |= path_is_unsure(h, p, limits);
        }
}

uint64_t shares_heritage_ns(const struct replay_shares *h, const struct trace_slice_info *info) {
        return h->last_end_ns && !h->goes_on ? h->last_end_ns : info->end_ns - 1;
}

/* ---- releases ---------------------------------------------------------------------------------- */

static void gain(struct replay_shares *h, struct replay_share *x, uint64_t n, uint64_t bytes) {
        struct state_site *site;

        if (n == 0 && bytes == 0)
                return;
        x->n -= n;
        x->bytes -= bytes;
        site = state_at(h->s, x->process, x->stack);
        site->n_inherited_frees += n;
        site->inherited_free_bytes += bytes;
        vec_push(&h->gains, (struct replay_gain){x->process, bytes, n});
}

static uint64_t spare(uint64_t share, uint64_t released) {
        return share > released ? share - released : 0;
}

void shares_release(struct replay_shares *h, uint32_t process, uint32_t stack, uint64_t *n,
                    uint64_t *bytes) {
        struct replay_path *path = path_at(h, stack);
        uint64_t n_here, bytes_here;
        struct replay_share *x;

        if (!h->is_on)
                return;
        if (!path) { /* all of them counted here */
                *n = *bytes = 0;
                return;
        }
        x = share_at(h, process, stack);
        x->n_released -= MIN(x->n_released, *n);
        x->released_bytes -= MIN(x->released_bytes, *bytes);
        n_here = *n - MIN(*n, x->n);
        bytes_here = *bytes - MIN(*bytes, x->bytes);
        *n -= n_here;
        *bytes -= bytes_here;
        x->n -= *n;
        x->bytes -= *bytes;
        for (size_t i = path->first; i > 0 && (n_here > 0 || bytes_here > 0);) {
                struct replay_share *y = &h->items.items[i - 1];
                uint64_t more = MIN(n_here, spare(y->n, y->n_released)),
                         more_bytes = MIN(bytes_here, spare(y->bytes, y->released_bytes));

                gain(h, y, more, more_bytes);
                n_here -= more;
                bytes_here -= more_bytes;
                i = y->next;
        }
}
