/* SPDX-License-Identifier: MIT */
#include "top/timeline_past.h"

#include "base/macros.h"

size_t timeline_past_share(const struct timeline_past *past, size_t n, uint64_t time_ns,
                           uint64_t most_ns, uint64_t *ret_span_ns) {
        uint64_t before_ns = past->span_ns ? past->span_ns + past->gap_ns : 0;
        double share;

        *ret_span_ns = MIN(time_ns + before_ns, most_ns);
        if (!before_ns || time_ns >= *ret_span_ns)
                return n;
        share = (double)time_ns / (double)*ret_span_ns * (double)n;
        return MIN(MAX((size_t)(share + 0.5), (size_t)1), n);
}

void timeline_past_fill(const struct timeline_past *past, struct query_column *columns, size_t n,
                        size_t n_own, uint64_t span_ns) {
        double width_ns = (double)span_ns / (double)n;

        for (size_t i = 0; i < n - n_own; i++) {
                /* the middle of the column, before the begin of this recording */
                double age_ns = ((double)(n - n_own - i) - 0.5) * width_ns - (double)past->gap_ns;
                double at = (1 - age_ns / (double)past->span_ns) * (double)past->n;

                columns[i] = (struct query_column){0}; /* between the two, and before all */
                if (age_ns >= 0 && at >= 0)
                        columns[i] = past->columns[MIN((size_t)at, past->n - 1)];
        }
}
