/* SPDX-License-Identifier: MIT */
/* The most of one process that was resident, against its blocks at their peak: what was requested and never touched is held by nobody. */
#pragma once

#include "query/query.h"

struct query_resident_peak {
        uint64_t bytes; /* of the process, with all that is not blocks */
        uint64_t
                untouched_bytes; /* of its large blocks, what no look at their pages found touched */
        bool is_exact; /* no more than bytes at any time; else of what came after the last sample nothing is known */
        bool is_less;    /* far less than its blocks were: not all of them were resident */
        bool is_unknown; /* samples found far less than that, but none was taken behind the peak */
};

/* totals: of the scope. Nothing is less without evidence: in windows, with filters, in recordings of samples; without a sample of memory
 * behind the peak it is unknown. */
void query_resident_peak(struct query *q, const struct query_scope *scope,
                         const struct query_totals *totals, struct query_resident_peak *ret);
