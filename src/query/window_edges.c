/* SPDX-License-Identifier: MIT */
/* Where a window may begin and end in a trace whose detail was dropped. */
#include "query/query_internal.h"

/* The slice whose events were dropped and that time_ns cuts; NULL: none. */
static const struct trace_slice_info *dropped_slice_at(const struct query *q, uint64_t time_ns) {
        const struct trace_slice_info *s = trace_slice(q->reader, query_slice_at(q, time_ns));

        return s && s->is_dropped && s->begin_ns < time_ns ? s : NULL;
}

static bool move_edge(const struct trace_slice_info *s, uint64_t *time_ns) {
        if (!s)
                return false;
        *time_ns = *time_ns - s->begin_ns < s->end_ns - *time_ns ? s->begin_ns : s->end_ns;
        return true;
}

/* A window inside one such slice becomes that slice. One that would become empty grows instead. */
bool query_move_edges(const struct query *q, struct query_scope *w) {
        const struct trace_slice_info *first = dropped_slice_at(q, w->from_ns);
        const struct trace_slice_info *last = dropped_slice_at(q, w->to_ns);
        struct query_scope asked = *w;
        bool is_moved;

        if (first && w->to_ns <= first->end_ns) {
                w->from_ns = first->begin_ns;
                w->to_ns = first->end_ns;
                return true;
        }
        is_moved = move_edge(first, &w->from_ns);
        is_moved |= move_edge(last, &w->to_ns);
        if (asked.from_ns < asked.to_ns && w->from_ns >= w->to_ns) {
                w->from_ns = first ? first->begin_ns : asked.from_ns;
                w->to_ns = last ? last->end_ns : asked.to_ns;
        }
        return is_moved;
}
