/* SPDX-License-Identifier: MIT */
#include "query/counted.h"

#include "base/macros.h"
#include "base/units.h"

enum { COUNTED_ROUNDING_NS = 1000 }; /* of the times of slices */

/* Nothing came after it was counted. While a recording is written, figures run ahead of the count; in a file that was cut, the count of those that are
 * missing. */
static bool is_count_of_all(const struct trace_view *v, uint32_t process,
                            const struct trace_tally *x) {
        return v->finished || v->processes[process].has_end ||
               (x->time_ns >= v->end_ns && x->time_ns - v->end_ns <= COUNTED_ROUNDING_NS);
}

void counted_take(const struct query *q, uint32_t process, struct query_totals *t) {
        const struct trace_tally *x =
                process < q->view->n_tallies ? &q->view->tallies[process] : NULL;
        double share = t->n_allocs ? (double)t->n_complete_stacks / (double)t->n_allocs : 1;

        if (!x || x->process == TRACE_NO_PROCESS || !is_count_of_all(q->view, process, x))
                return;
        t->n_allocs_est = t->n_allocs;
        t->alloc_bytes_est = t->alloc_bytes;
        t->n_allocs = x->n_allocs;
        t->n_frees = x->n_frees;
        t->n_reallocs = x->n_reallocs;
        t->alloc_bytes = x->alloc_bytes;
        t->n_complete_stacks = MIN(unit_nearest((double)x->n_allocs * share), x->n_allocs);
        t->is_tallied = true;
}
