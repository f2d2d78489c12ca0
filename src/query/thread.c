/* SPDX-License-Identifier: MIT */
/* What each thread did. Only the events know. */
#include "base/map.h"
#include "query/internal.h"

enum { OWNERS_PER_BYTE = 128 }; /* two bits an event, 32 bytes from one stored */

struct counting {
        const struct query *q;
        const struct query_scope *scope;
        struct query_thread *threads;
        uint32_t *row_of;     /* thread → row + 1, 0: not in scope */
        uint64_t *last_alloc; /* thread → seq + 1 of its latest allocation */
        uint32_t *owner;      /* seq - owner_first → thread + 1 */
        uint64_t n_owners;
};

static void count_release(struct counting *k, struct query_thread *row, uint32_t thread,
                          uint64_t seq) {
        row->n_frees++;
        if (k->last_alloc[thread] == seq + 1)
                row->n_temporary++;
        if (seq < k->n_owners && k->owner[seq] != thread + 1)
                row->n_foreign_frees++;
}

static void count_event(struct counting *k, const struct trace_event *e) {
        bool allocates = e->op == TRACE_ALLOC || e->op == TRACE_REALLOC;
        struct query_thread *row;

        if (e->thread >= k->q->view->n_threads)
                return;
        if (allocates && e->seq < k->n_owners)
                k->owner[e->seq] = e->thread + 1;
        if (k->row_of[e->thread] && e->time_ns >= k->scope->from_ns) {
                row = &k->threads[k->row_of[e->thread] - 1];
                if (e->op == TRACE_FREE)
                        count_release(k, row, e->thread, e->seq);
                if (e->op == TRACE_REALLOC)
                        count_release(k, row, e->thread, e->old_seq);
                if (allocates) {
                        row->n_allocs++;
                        row->alloc_bytes += e->size_bytes;
                }
        }
        if (allocates)
                k->last_alloc[e->thread] = e->seq + 1;
}

/* All events up to the window's end: owners of blocks are known only from their allocations. */
static bool count_events(struct counting *k, struct query *q) {
        bool whole = true;

        for (size_t i = 0; i < q->view->n_slices; i++) {
                const struct trace_event *events;
                size_t n;

                if (trace_slice(q->reader, i)->begin_ns >= k->scope->to_ns)
                        break;
                whole &= query_read_events(q, i, &events, &n);
                for (size_t e = 0; e < n && events[e].time_ns < k->scope->to_ns; e++)
                        count_event(k, &events[e]);
                query_tell_progress(q, i + 1, q->view->n_slices);
        }
        return whole;
}

static size_t list_threads(const struct query *q, const struct query_scope *scope,
                           struct query_thread *rows, uint32_t *row_of) {
        size_t n = 0;

        for (uint32_t i = 0; i < q->view->n_threads; i++) {
                const struct trace_thread *t = &q->view->threads[i].start;

                if ((scope->process != QUERY_ALL && t->process != scope->process) ||
                    t->start_ns >= scope->to_ns)
                        continue;
                rows[n++] = (struct query_thread){.thread = i};
                row_of[i] = (uint32_t)n;
        }
        return n;
}

int query_threads(struct query *q, const struct query_scope *scope, uint64_t max_events,
                  struct query_thread **ret, size_t *ret_n, bool *ret_has_figures,
                  struct err *reterr) {
        const struct trace_view *v = q->view;
        _cleanup_free_ struct query_thread *rows = calloc(v->n_threads + 1, sizeof(*rows));
        _cleanup_free_ uint32_t *row_of = calloc(v->n_threads + 1, sizeof(*row_of));
        _cleanup_free_ uint64_t *last_alloc = calloc(v->n_threads + 1, sizeof(*last_alloc));
        _cleanup_free_ uint32_t *owner = NULL;
        struct counting k = {.q = q,
                             .scope = scope,
                             .threads = rows,
                             .row_of = row_of,
                             .last_alloc = last_alloc};
        size_t n;

        (void)reterr;
        if (!rows || !row_of || !last_alloc)
                abort();
        n = list_threads(q, scope, rows, row_of);
        *ret_has_figures = false;
        if (v->n_events <= max_events) {
                /* no more than the file's events can be, whatever it claims */
                k.n_owners = MIN(v->n_events, v->file_bytes * OWNERS_PER_BYTE);
                k.owner = owner = calloc(k.n_owners + 1, sizeof(*owner));
                if (!owner)
                        abort();
                *ret_has_figures = count_events(&k, q);
        }
        *ret = TAKE_PTR(rows);
        *ret_n = n;
        return 0;
}
