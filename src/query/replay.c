/* SPDX-License-Identifier: MIT */
/* Replays one slice. Three things are not in its events and come from elsewhere:
 *  - forks: the rows of the slice say what a child inherited, its start time says when
 *  - what passed on to an heir: the rows say how many inherited blocks ceased to count elsewhere (replay_shares.h)
 *  - whether a release of a block from an earlier slice makes it temporary: that needs the last
 *    allocation of the releasing thread. The slice's rows rule most cases out; the rest look back
 *    slice by slice. */
#include "query/replay.h"

#include "query/query_internal.h"
#include "query/replay_shares.h"

struct candidate {
        uint32_t thread, process, stack, n_blocks;
        uint64_t seq;
};

/* A child that began in this slice, with something inherited: rows [begin, end) of forks. */
struct replay_child {
        uint64_t start_ns;
        uint32_t process;
        size_t begin, end;
        bool is_started;
};

struct replay {
        struct query *q;
        struct state *s;
        const struct replay_limits *limits;
        replay_fn fn;
        void *ctx;
        uint64_t first_seq; /* of the slice */
        uint64_t n_steps;
        size_t event_idx;
        struct map last_alloc; /* thread → seq of its latest allocation in this slice */
        struct map
                temporary_sites; /* (process << 32 | stack) with a temporary allocation in this slice */
        VEC(struct trace_site) forks;      /* rows with something inherited, by process */
        VEC(struct replay_child) children; /* by start */
        size_t next_child;
        struct map child_of; /* process → its place in children */
        VEC(struct candidate) candidates;
        struct replay_shares shares;
        struct replay_step step; /* being made */
};

static bool replay_is_over(const struct replay *p) {
        return p->n_steps >= p->limits->n_steps;
}

static void replay_step_done(struct replay *p, uint64_t time_ns, uint32_t process,
                             const struct trace_event *event) {
        p->step.number = p->n_steps++;
        p->step.time_ns = time_ns;
        p->step.process = process;
        p->step.event = event;
        p->step.event_idx = p->event_idx;
        p->step.own_bytes -= (int64_t)p->step.gone_bytes;
        p->step.own_blocks -= (int64_t)p->step.gone_blocks;
        p->step.gains = p->shares.gains.items;
        p->step.n_gains = p->shares.gains.n;
        if (p->fn)
                p->fn(p->ctx, p->s, &p->step);
        vec_clear(&p->shares.gains);
        p->step = (struct replay_step){0};
}

/* ---- forks ----------------------------------------------------------------------------------- */

static int fork_compare(const void *a, const void *b) {
        const struct trace_site *x = a, *y = b;

        return x->process < y->process ? -1 : x->process > y->process;
}

static int child_compare(const void *a, const void *b) {
        const struct replay_child *x = a, *y = b;

        if (x->start_ns != y->start_ns)
                return x->start_ns < y->start_ns ? -1 : 1;
        return x->process < y->process ? -1 : x->process > y->process;
}

static void replay_list_children(struct replay *p) {
        if (p->forks.n)
                qsort(p->forks.items, p->forks.n, sizeof(p->forks.items[0]), fork_compare);
        for (size_t i = 0, end; i < p->forks.n; i = end) {
                uint32_t process = p->forks.items[i].process;

                for (end = i + 1; end < p->forks.n && p->forks.items[end].process == process; end++)
                        ;
                vec_push(&p->children,
                         (struct replay_child){p->q->view->processes[process].start.start_ns,
                                               process, i, end, false});
        }
        if (p->children.n)
                qsort(p->children.items, p->children.n, sizeof(p->children.items[0]),
                      child_compare);
        for (size_t i = 0; i < p->children.n; i++)
                map_put(&p->child_of, p->children.items[i].process, i, NULL);
}

static void replay_start_child(struct replay *p, struct replay_child *child, uint64_t time_ns) {
        struct trace_counts *c = &p->s->counts[child->process];

        if (child->is_started || replay_is_over(p))
                return;
        for (size_t i = child->begin; i < child->end; i++) {
                const struct trace_site *row = &p->forks.items[i];
                struct state_site *site = state_at(p->s, child->process, row->stack);

                site->n_inherited += row->n_inherited;
                site->inherited_bytes += row->inherited_bytes;
                c->live_blocks += row->n_inherited;
                c->live_bytes += row->inherited_bytes;
        }
        child->is_started = true;
        replay_step_done(p, MIN(child->start_ns, time_ns), child->process, NULL);
}

/* Children that began by time_ns, and `also` (whose first event is here), get what they
 * inherited. */
static void replay_forks(struct replay *p, uint64_t time_ns, uint32_t also) {
        uint64_t place;

        while (p->next_child < p->children.n &&
               p->children.items[p->next_child].start_ns <= time_ns && !replay_is_over(p))
                replay_start_child(p, &p->children.items[p->next_child++], time_ns);
        if (p->children.n && map_get(&p->child_of, also, &place))
                replay_start_child(p, &p->children.items[place], time_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void replay_alloc(struct replay *p, uint32_t process, const struct trace_event *e) {
        struct state_site *site = state_at(p->s, process, e->stack);
        struct trace_counts *c = &p->s->counts[process];

        state_note_alloc(p->s, site, process, e->stack);
        p->step.own_bytes += (int64_t)trace_event_bytes(e);
        p->step.own_blocks += e->n_blocks;
        site->n_allocs += e->n_blocks;
        site->alloc_bytes += trace_event_bytes(e);
        c->n_allocs += e->n_blocks;
        c->alloc_bytes += trace_event_bytes(e);
        c->live_blocks += e->n_blocks;
        c->live_bytes += trace_event_bytes(e);
        if (e->op == TRACE_REALLOC) {
                site->n_reallocs += e->n_blocks;
                c->n_reallocs += e->n_blocks;
        }
        *map_put(&p->last_alloc, e->thread, 0, NULL) = e->seq;
}

/* Temporary: released by the thread that allocated it, with no allocation of that thread in
 * between. */
static void replay_temporary(struct replay *p, uint32_t process, uint32_t thread, uint32_t stack,
                             uint64_t seq, uint32_t n_blocks) {
        uint64_t value;

        if (map_get(&p->last_alloc, thread, &value)) {
                if (value == seq) {
                        state_at(p->s, process, stack)->n_temporary += n_blocks;
                        p->s->counts[process].n_temporary += n_blocks;
                }
        } else if (seq < p->first_seq &&
                   map_get(&p->temporary_sites, (uint64_t)process << 32 | stack, &value)) {
                vec_push(&p->candidates, (struct candidate){thread, process, stack, n_blocks, seq});
        }
}

/* Before the release is counted. Where the number of the block does not tell, because the fork's detail is missing, what
 * is left of the site may. */
static bool replay_is_inherited(struct query *q, const struct state_site *site, uint64_t seq) {
        struct inherited_frees *h = &q->inherit;

        if (!h->is_loaded || seq >= h->first_seq[site->process])
                return false;
        if (seq < h->unsure_seq[site->process])
                return true;
        if (site->n_inherited <= site->n_inherited_frees)
                return false;
        h->is_unsure |= state_site_own_blocks(site) > 0;
        return true;
}

/* Whether the block was inherited is known only once inherited_load has run. */
static void replay_release(struct replay *p, uint32_t process, uint32_t stack, uint64_t seq,
                           uint32_t n_blocks, uint64_t bytes) {
        struct state_site *site = state_at(p->s, process, stack);
        struct trace_counts *c = &p->s->counts[process];
        bool is_inherited = replay_is_inherited(p->q, site, seq);
        uint64_t n_elsewhere = n_blocks, bytes_elsewhere = bytes;

        site->n_frees += n_blocks;
        site->free_bytes += bytes;
        c->live_blocks -= n_blocks;
        c->live_bytes -= bytes;
        p->step.gone_blocks = n_blocks;
        p->step.gone_bytes = bytes;
        if (!is_inherited)
                return;
        shares_release(&p->shares, process, stack, &n_elsewhere, &bytes_elsewhere);
        site->n_inherited_frees += n_elsewhere;
        site->inherited_free_bytes += bytes_elsewhere;
        p->step.gone_blocks -= n_elsewhere;
        p->step.gone_bytes -= bytes_elsewhere;
}

static void replay_other(struct replay *p, uint32_t process, const struct trace_event *e) {
        struct trace_counts *c = &p->s->counts[process];

        switch ((enum trace_other)e->other) {
        case TRACE_IMPLICIT_FREE:
                c->n_implicit_frees += e->n_blocks;
                replay_release(p, process, e->stack, e->seq, e->n_blocks, trace_event_bytes(e));
                break;
        case TRACE_UNKNOWN_FREE: c->n_unknown_frees++; break;
        case TRACE_PRIOR_FREE: c->n_prior_frees++; break;
        case TRACE_FAILED: c->n_failed++; break;
        case TRACE_LOST: c->n_lost += e->size_bytes; break;
        case TRACE_WRONG_SIZE: c->n_wrong_sizes++; break;
        case TRACE_UNSAMPLED: *map_put(&p->last_alloc, e->thread, 0, NULL) = UINT64_MAX; break;
        }
}

static void replay_event(struct replay *p, const struct trace_event *e) {
        uint32_t process = query_event_process(p->q, e);

        if (process >= p->s->n_processes)
                return;
        switch ((enum trace_op)e->op) {
        case TRACE_ALLOC: replay_alloc(p, process, e); break;
        case TRACE_FREE:
                p->s->counts[process].n_frees += e->n_blocks;
                replay_temporary(p, process, e->thread, e->stack, e->seq, e->n_blocks);
                replay_release(p, process, e->stack, e->seq, e->n_blocks, trace_event_bytes(e));
                break;
        case TRACE_REALLOC:
                p->s->counts[process].n_frees += e->old_n_blocks;
                replay_temporary(p, process, e->thread, e->old_stack, e->old_seq, e->old_n_blocks);
                replay_release(p, process, e->old_stack, e->old_seq, e->old_n_blocks,
                               trace_event_old_bytes(e));
                replay_alloc(p, process, e);
                break;
        case TRACE_OTHER: replay_other(p, process, e); break;
        }
        replay_step_done(p, e->time_ns, process, e);
}

/* ---- temporaries whose allocation lies in an earlier slice ----------------------------------- */

static void replay_count_temporary(struct replay *p, const struct candidate *c) {
        state_at(p->s, c->process, c->stack)->n_temporary += c->n_blocks;
        p->s->counts[c->process].n_temporary += c->n_blocks;
}

/* Settles what the slice's events settle; keeps the rest for the slice before. */
static void replay_look_back(struct replay *p, size_t slice_idx) {
        uint64_t first_seq = trace_slice(p->q->reader, slice_idx)->first_seq;
        const struct trace_event *events;
        size_t n_events, n_kept = 0;

        if (!query_read_events(p->q, slice_idx, &events, &n_events)) {
                p->s->is_exact = false;
                vec_clear(&p->candidates);
                return;
        }
        map_clear(&p->last_alloc);
        for (size_t i = 0; i < n_events; i++)
                if (events[i].op == TRACE_ALLOC || events[i].op == TRACE_REALLOC)
                        *map_put(&p->last_alloc, events[i].thread, 0, NULL) = events[i].seq;
                else if (events[i].op == TRACE_OTHER && events[i].other == TRACE_UNSAMPLED)
                        *map_put(&p->last_alloc, events[i].thread, 0, NULL) = UINT64_MAX;
        for (size_t i = 0; i < p->candidates.n; i++) {
                struct candidate c = p->candidates.items[i];
                uint64_t seq;

                if (map_get(&p->last_alloc, c.thread, &seq)) {
                        if (seq == c.seq)
                                replay_count_temporary(p, &c);
                } else if (c.seq < first_seq) {
                        p->candidates.items[n_kept++] = c;
                }
        }
        p->candidates.n = n_kept;
}

/* ---- what passed on -------------------------------------------------------------------------- */

/* All that no release took, process by process. */
static void replay_heritage(struct replay *p, uint64_t time_ns) {
        for (size_t i = 0; i < p->shares.items.n && !replay_is_over(p);) {
                uint32_t process = p->shares.items.items[i].process;
                bool is_any = false;

                for (; i < p->shares.items.n && p->shares.items.items[i].process == process; i++) {
                        const struct replay_share *x = &p->shares.items.items[i];
                        struct state_site *site = state_at(p->s, process, x->stack);

                        site->n_inherited_frees += x->n;
                        site->inherited_free_bytes += x->bytes;
                        p->step.own_blocks += (int64_t)x->n;
                        p->step.own_bytes += (int64_t)x->bytes;
                        is_any |= x->n > 0 || x->bytes > 0;
                }
                p->step.is_heritage = true;
                if (is_any)
                        replay_step_done(p, time_ns, process, NULL);
        }
}

/* ---- the slice ------------------------------------------------------------------------------- */

static void replay_begin(struct replay *p, size_t slice_idx) {
        const struct trace_site *rows;
        struct err e = {0};
        size_t n;

        p->first_seq = trace_slice(p->q->reader, slice_idx)->first_seq;
        if (trace_read_sites(p->q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(p->q, &e);
                p->s->is_exact = false;
                return;
        }
        p->shares.is_on = p->s->focus == QUERY_ALL && p->q->inherit.is_loaded &&
                          trace_slice(p->q->reader, slice_idx)->has_inherited_frees;
        for (size_t i = 0; i < n; i++) {
                if (p->shares.is_on)
                        shares_add_row(&p->shares, &rows[i]);
                if (rows[i].n_inherited > 0 && rows[i].process < p->s->n_processes)
                        vec_push(&p->forks, rows[i]);
                if (rows[i].n_temporary > 0)
                        map_put(&p->temporary_sites,
                                (uint64_t)rows[i].process << 32 | rows[i].stack, 0, NULL);
        }
        replay_list_children(p);
}

static void replay_events(struct replay *p, const struct trace_event *events, size_t n) {
        for (size_t i = 0; i < n && !replay_is_over(p); i++) {
                p->event_idx = i;
                if (events[i].time_ns >= p->limits->before_ns)
                        break;
                if (p->children.n)
                        replay_forks(p, events[i].time_ns, query_event_process(p->q, &events[i]));
                if (!replay_is_over(p))
                        replay_event(p, &events[i]);
        }
        if (p->limits->before_ns == UINT64_MAX)
                p->event_idx = n;
        if (p->limits->before_ns > 0)
                replay_forks(p, p->limits->before_ns - 1, TRACE_NO_PROCESS);
}

bool replay_slice(struct query *q, struct state *s, size_t slice_idx,
                  const struct replay_limits *limits, replay_fn fn, void *ctx) {
        const struct trace_slice_info *info = trace_slice(q->reader, slice_idx);
        struct replay p = {
                .q = q, .s = s, .limits = limits, .fn = fn, .ctx = ctx, .shares = {.q = q, .s = s}};
        const struct trace_event *events;
        size_t n;

        if (!query_read_events(q, slice_idx, &events, &n))
                return false;
        replay_begin(&p, slice_idx);
        shares_add_events(&p.shares, info, events, n);
        shares_check(&p.shares, limits);
        replay_events(&p, events, n);
        if (p.shares.items.n && limits->before_ns > shares_heritage_ns(&p.shares, info))
                replay_heritage(&p, shares_heritage_ns(&p.shares, info));
        for (size_t i = slice_idx; !limits->skip_temporary && p.candidates.n > 0 && i-- > 0;) {
                if (!query_go_on(q, slice_idx - i, slice_idx + 1))
                        break;
                replay_look_back(&p, i);
        }
        map_done(&p.last_alloc);
        map_done(&p.temporary_sites);
        vec_free(&p.forks);
        vec_free(&p.children);
        map_done(&p.child_of);
        vec_free(&p.candidates);
        shares_done(&p.shares);
        return true;
}
