/* SPDX-License-Identifier: MIT */
#include "query/query_internal.h"

/* The slice that allocation number seq is in; SIZE_MAX: none. */
static size_t slice_of(const struct query *q, uint64_t seq) {
        size_t low = 0, high = trace_view(q->reader)->n_slices;
        const struct trace_slice_info *s;

        while (low < high) { /* the last with first_seq <= seq */
                size_t mid = low + (high - low) / 2;

                if (trace_slice(q->reader, mid)->first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        s = low ? trace_slice(q->reader, low - 1) : NULL;
        return s && seq - s->first_seq < s->n_allocs ? low - 1 : SIZE_MAX;
}

/* Of those in [i, *ret_end) that one slice has; events name blocks by rising numbers, as seqs does. */
static void read_times(struct query *q, size_t slice, const uint64_t *seqs, size_t i, size_t end,
                       uint64_t *ret_ns) {
        const struct trace_event *events;
        struct err unsaid = {0};
        size_t n;

        if (trace_read_events(q->reader, slice, &events, &n, &unsaid) < 0)
                return;
        for (size_t k = 0; k < n && i < end; k++) {
                if (events[k].op != TRACE_ALLOC && events[k].op != TRACE_REALLOC)
                        continue;
                while (i < end && seqs[i] < events[k].seq)
                        i++;
                for (; i < end && seqs[i] == events[k].seq; i++)
                        ret_ns[i] = events[k].time_ns;
        }
}

void query_alloc_times(struct query *q, const uint64_t *seqs, size_t n, size_t max_slices,
                       uint64_t *ret_ns) {
        for (size_t i = 0, end; i < n; i = end) {
                size_t slice = slice_of(q, seqs[i]);
                const struct trace_slice_info *s =
                        slice == SIZE_MAX ? NULL : trace_slice(q->reader, slice);

                for (end = i; end < n && (s ? seqs[end] - s->first_seq < s->n_allocs : end == i);
                     end++)
                        ret_ns[end] = s ? s->end_ns : UINT64_MAX;
                if (!s || !s->has_events || !max_slices)
                        continue;
                max_slices--;
                read_times(q, slice, seqs, i, end, ret_ns);
        }
}
