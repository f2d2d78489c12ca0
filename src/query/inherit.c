/* SPDX-License-Identifier: MIT */
#include "query/inherit.h"

#include "base/map.h"
#include "query/internal.h"

void inherit_done(struct inherit *h) {
        vec_free(&h->releases);
        free(h->first_seq);
        *h = (struct inherit){0};
}

/* While walking the slices: the sites that children inherited from, and who is still without a
 * block. */
struct walk {
        struct map inherited_sites; /* (process << 32 | stack) */
        struct map found; /* in this slice: (process << 32 | stack) → index into releases */
        size_t slice_idx;
};

/* Marks the sites inherited in this slice and says whether its events must be looked at. */
static bool walk_needs_events(struct query *q, struct walk *w, const struct trace_site *rows,
                              size_t n) {
        bool needs = false;

        for (size_t i = 0; i < n; i++)
                if (rows[i].n_inherited > 0) {
                        map_put(&w->inherited_sites,
                                (uint64_t)rows[i].process << 32 | rows[i].stack, 0, NULL);
                        if (q->inherit.first_seq[rows[i].process] == 0)
                                q->inherit.first_seq[rows[i].process] = UINT64_MAX;
                }
        for (size_t i = 0; i < n && !needs; i++) {
                uint64_t value;

                if (rows[i].n_allocs > 0 && q->inherit.first_seq[rows[i].process] == UINT64_MAX)
                        needs = true;
                else if (rows[i].n_frees > 0)
                        needs = map_get(&w->inherited_sites,
                                        (uint64_t)rows[i].process << 32 | rows[i].stack, &value);
        }
        return needs;
}

static void walk_release(struct query *q, struct walk *w, uint32_t process, uint32_t stack,
                         uint64_t seq, uint64_t size_bytes) {
        struct inherit *h = &q->inherit;
        struct inherit_release *f;
        uint64_t *idx;
        bool added;

        if (seq >= h->first_seq[process])
                return;
        idx = map_put(&w->found, (uint64_t)process << 32 | stack, h->releases.n, &added);
        if (added) {
                struct inherit_release first = {.slice_idx = w->slice_idx,
                                                .process = process,
                                                .stack = stack};

                vec_push(&h->releases, first);
        }
        f = &h->releases.items[*idx];
        f->n_frees++;
        f->free_bytes += size_bytes;
}

static void walk_event(struct query *q, struct walk *w, const struct trace_event *e) {
        uint32_t process = query_event_process(q, e);
        uint64_t *first_seq;

        if (process >= q->view->n_processes)
                return;
        first_seq = &q->inherit.first_seq[process];
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                walk_release(q, w, process, e->stack, e->seq, e->size_bytes);
        if (e->op == TRACE_REALLOC)
                walk_release(q, w, process, e->old_stack, e->old_seq, e->old_size_bytes);
        if ((e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) && *first_seq == UINT64_MAX)
                *first_seq = e->seq;
}

static void walk_slice(struct query *q, struct walk *w, size_t slice_idx) {
        const struct trace_site *rows;
        const struct trace_event *events;
        struct err e = {0};
        size_t n;

        if (trace_read_sites(q->reader, slice_idx, &rows, &n, &e) < 0) {
                query_note_damage(q, &e);
                return;
        }
        if (!walk_needs_events(q, w, rows, n))
                return;
        if (!query_read_events(q, slice_idx, &events, &n)) {
                q->inherit.lacks_events = true;
                return;
        }
        w->slice_idx = slice_idx;
        map_clear(&w->found);
        for (size_t i = 0; i < n; i++)
                walk_event(q, w, &events[i]);
}

void inherit_load(struct query *q) {
        struct walk w = {0};

        if (q->inherit.is_loaded)
                return;
        q->inherit.first_seq = calloc(q->view->n_processes + 1, sizeof(uint64_t));
        if (!q->inherit.first_seq)
                abort();
        for (size_t i = 0; i < q->view->n_slices && q->view->n_processes > 1; i++) {
                walk_slice(q, &w, i);
                query_tell_progress(q, i + 1, q->view->n_slices);
        }
        map_done(&w.inherited_sites);
        map_done(&w.found);
        q->inherit.is_loaded = true;
}
