/* SPDX-License-Identifier: MIT */
#include "query/query_internal.h"

static bool slice_has_any(struct query *q, size_t slice_idx, const struct query_scope *scope) {
        const struct trace_counts *counts;
        struct err e = {0};
        size_t n;

        if (trace_read_counts(q->reader, slice_idx, &counts, &n, &e) < 0)
                return false;
        for (size_t i = 0; i < n; i++)
                if (counts[i].n_wrong_sizes && counts[i].process < q->view->n_processes &&
                    (scope->process == QUERY_ALL || counts[i].process == scope->process))
                        return true;
        return false;
}

/* What a release gave stands right behind it. */
static bool is_pair(const struct query *q, const struct trace_event *release,
                    const struct trace_event *given, const struct query_scope *scope) {
        uint32_t process = query_event_process(q, given);

        return given->op == TRACE_OTHER && given->other == TRACE_WRONG_SIZE &&
               release->op == TRACE_FREE && release->thread == given->thread &&
               release->size_bytes != given->size_bytes && given->time_ns >= scope->from_ns &&
               given->time_ns < scope->to_ns &&
               (scope->process == QUERY_ALL || process == scope->process);
}

size_t query_mismatches(struct query *q, const struct query_scope *scope,
                        struct query_mismatch *ret, size_t cap) {
        size_t n_found = 0;

        for (size_t i = query_slice_at(q, scope->from_ns); i < q->view->n_slices && n_found < cap;
             i++) {
                const struct trace_event *events;
                size_t n;

                if (trace_slice(q->reader, i)->begin_ns >= scope->to_ns)
                        break;
                if (!slice_has_any(q, i, scope) || !query_read_events(q, i, &events, &n))
                        continue;
                for (size_t k = 1; k < n && n_found < cap; k++)
                        if (is_pair(q, &events[k - 1], &events[k], scope))
                                ret[n_found++] =
                                        (struct query_mismatch){.time_ns = events[k].time_ns,
                                                                .size_bytes =
                                                                        events[k - 1].size_bytes,
                                                                .given_bytes = events[k].size_bytes,
                                                                .stack = events[k - 1].stack,
                                                                .free_stack =
                                                                        events[k - 1].free_stack};
        }
        return n_found;
}
