/* SPDX-License-Identifier: MIT */
#include "query/inherited_frees.h"

#include "base/map.h"
#include "query/query_internal.h"

void inherited_done(struct inherited_frees *h) {
        vec_free(&h->releases);
        free(h->first_seq);
        free(h->unsure_seq);
        *h = (struct inherited_frees){0};
}

uint32_t inherited_parent(const struct query *q, uint32_t process) {
        uint32_t parent = q->view->processes[process].start.parent;

        /* a parent is defined before its child, so there are no circles */
        return parent < process && q->inherit.first_seq[process] > 0 ? parent : TRACE_NO_PROCESS;
}

bool inherited_outlives(const struct query *q) {
        for (uint32_t p = 0; p < q->view->n_processes; p++) {
                uint32_t parent = inherited_parent(q, p);

                if (parent != TRACE_NO_PROCESS &&
                    query_process_gone_ns(q, parent) < query_process_gone_ns(q, p))
                        return true;
        }
        return false;
}

/* While walking the slices: the sites that children inherited from, and the slice at hand. */
struct walk {
        struct map inherited_sites; /* (process << 32 | stack) */
        struct map found; /* in this slice: (process << 32 | stack) → index into releases */
        size_t slice_idx;
        const struct trace_slice_info *info;
};

/* Marks the sites inherited in this slice; returns whether a process began with something. */
static bool walk_forks(struct query *q, struct walk *w, const struct trace_site *rows, size_t n) {
        struct inherited_frees *h = &q->inherit;
        bool forks = false;

        for (size_t i = 0; i < n; i++) {
                uint32_t process = rows[i].process;

                if (rows[i].n_inherited == 0)
                        continue;
                map_put(&w->inherited_sites, (uint64_t)process << 32 | rows[i].stack, 0, NULL);
                if (h->first_seq[process] > 0)
                        continue;
                h->unsure_seq[process] = w->info->first_seq;
                h->first_seq[process] = w->info->first_seq + w->info->n_allocs;
                forks = true;
        }
        return forks;
}

/* Whether a child released at a site it inherited from, in a slice whose rows say no more. */
static bool walk_needs_releases(const struct walk *w, const struct trace_site *rows, size_t n) {
        uint64_t value;

        for (size_t i = 0; i < n && !w->info->has_inherited_frees; i++)
                if (rows[i].n_frees > 0 &&
                    map_get(&w->inherited_sites, (uint64_t)rows[i].process << 32 | rows[i].stack,
                            &value))
                        return true;
        return false;
}

static void walk_release(struct query *q, struct walk *w, uint32_t process, uint32_t stack,
                         uint64_t seq, uint32_t n_blocks, uint64_t bytes) {
        struct inherited_frees *h = &q->inherit;
        struct inherited_release *f;
        uint64_t *idx;
        bool added;

        if (w->info->has_inherited_frees || seq >= h->first_seq[process])
                return;
        h->lacks_events |= seq >= h->unsure_seq[process];
        idx = map_put(&w->found, (uint64_t)process << 32 | stack, h->releases.n, &added);
        if (added) {
                struct inherited_release first = {.slice_idx = w->slice_idx,
                                                  .process = process,
                                                  .stack = stack};

                vec_push(&h->releases, first);
        }
        f = &h->releases.items[*idx];
        f->n_frees += n_blocks;
        f->free_bytes += bytes;
}

static void walk_event(struct query *q, struct walk *w, const struct trace_event *e) {
        uint32_t process = query_event_process(q, e);

        if (process >= q->view->n_processes)
                return;
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                walk_release(q, w, process, e->stack, e->seq, e->n_blocks, trace_event_bytes(e));
        if (e->op == TRACE_REALLOC)
                walk_release(q, w, process, e->old_stack, e->old_seq, e->old_n_blocks,
                             trace_event_old_bytes(e));
        if ((e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) &&
            e->seq < q->inherit.first_seq[process]) /* in the slice it began in */
                q->inherit.first_seq[process] = q->inherit.unsure_seq[process] = e->seq;
}

static void walk_slice(struct query *q, struct walk *w, size_t slice_idx) {
        const struct trace_site *rows;
        const struct trace_event *events;
        struct err e = {0};
        size_t n_rows, n;
        bool forks, needs_releases;

        w->slice_idx = slice_idx;
        w->info = trace_slice(q->reader, slice_idx);
        if (trace_read_sites(q->reader, slice_idx, &rows, &n_rows, &e) < 0) {
                query_note_damage(q, &e);
                return;
        }
        forks = walk_forks(q, w, rows, n_rows);
        needs_releases = walk_needs_releases(w, rows, n_rows);
        if (!forks && !needs_releases)
                return;
        if (!query_read_events(q, slice_idx, &events, &n)) {
                q->inherit.lacks_events |= needs_releases;
                return;
        }
        for (size_t i = 0; i < n_rows && forks; i++)
                if (rows[i].n_inherited > 0)
                        q->inherit.unsure_seq[rows[i].process] =
                                q->inherit.first_seq[rows[i].process];
        map_clear(&w->found);
        for (size_t i = 0; i < n; i++)
                walk_event(q, w, &events[i]);
}

void inherited_load(struct query *q) {
        struct walk w = {0};

        if (q->inherit.is_loaded)
                return;
        inherited_done(&q->inherit); /* of an answer that was stopped */
        q->inherit.first_seq = calloc(q->view->n_processes + 1, sizeof(uint64_t));
        q->inherit.unsure_seq = calloc(q->view->n_processes + 1, sizeof(uint64_t));
        if (!q->inherit.first_seq || !q->inherit.unsure_seq)
                abort();
        for (size_t i = 0; i < q->view->n_slices && q->view->n_processes > 1; i++) {
                walk_slice(q, &w, i);
                if (!query_go_on(q, i + 1, q->view->n_slices))
                        break;
        }
        map_done(&w.inherited_sites);
        map_done(&w.found);
        q->inherit.is_loaded = !q->stopped;
}
