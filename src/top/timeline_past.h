/* SPDX-License-Identifier: MIT */
/* What the timeline showed of recordings before this one, which silt top ended itself: it stays to the left of what is recorded now.
 * Inside top/ only. */
#pragma once

#include <stddef.h>

#include "query/query.h"

enum { TIMELINE_PAST_COLUMNS = 512 };

struct timeline_past {
        struct query_column columns[TIMELINE_PAST_COLUMNS];
        size_t n;
        uint64_t span_ns; /* of all of them; 0: there was none */
        uint64_t gap_ns;  /* from there to the begin of this recording */
};

/* How many of n columns, the last ones, are this recording's, which is so long; the rest is the past's. All of them show at most
 * most_ns, *ret_span_ns. At least one. */
size_t timeline_past_share(const struct timeline_past *past, size_t n, uint64_t time_ns,
                           uint64_t most_ns, uint64_t *ret_span_ns);
/* Fills columns [0, n - n_own), of n that show span_ns up to now. */
void timeline_past_fill(const struct timeline_past *past, struct query_column *columns, size_t n,
                        size_t n_own, uint64_t span_ns);
