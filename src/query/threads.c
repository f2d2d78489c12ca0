/* SPDX-License-Identifier: MIT */
/* What each thread did. Only the events know. */
#include "query/block_life.h"
#include "query/query_internal.h"

struct counting {
        const struct query_scope *scope;
        struct query_thread *threads;
        uint32_t *row_of; /* thread → row + 1, 0: not in scope */
};

static struct query_thread *counting_row(const struct counting *k, uint32_t thread) {
        return k->row_of[thread] ? &k->threads[k->row_of[thread] - 1] : NULL;
}

static bool count_life(void *ctx, const struct query_life *l) {
        const struct counting *k = ctx;
        struct query_thread *row = counting_row(k, l->thread);

        if (row && life_is_allocated_in(l, k->scope)) {
                row->n_allocs += l->n_blocks;
                row->alloc_bytes += life_bytes(l);
        }
        if (!life_is_released_in(l, k->scope) || l->is_implicit_free)
                return true;
        row = counting_row(k, l->free_thread);
        if (row) {
                row->n_frees += l->n_blocks;
                row->n_temporary += l->is_temporary ? l->n_blocks : 0;
                row->n_foreign_frees += l->free_thread != l->thread ? l->n_blocks : 0;
        }
        return true;
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
        struct counting k = {.scope = scope, .threads = rows, .row_of = row_of};
        size_t n;

        if (!rows || !row_of)
                abort();
        n = list_threads(q, scope, rows, row_of);
        *ret_has_figures = false;
        if (v->n_events <= max_events) {
                int r = life_scan(q, scope, LIFE_NO_PEAK, count_life, &k, ret_has_figures, reterr);

                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(rows);
        *ret_n = n;
        return 0;
}
