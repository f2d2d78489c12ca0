/* SPDX-License-Identifier: MIT */
/* What the peak of live bytes would be if the blocks of some code did not exist, or lived shorter, or were kept more tightly; from the
 * events alone, without a replay (docs/whatif.md, "Estimates"). Inside replay/ only. */
#pragma once

#include "query/query.h"
#include "show/frame.h"
#include "show/text_pool.h"

enum { SITE_ESTIMATES_MAX = 64 };

/* Code that asks for memory: a function and line, whoever calls it. */
struct site_estimate {
        uint32_t stack;                   /* one of its call paths, that with most at the peak */
        uint64_t peak_bytes, peak_blocks; /* live when most was live */
        uint64_t n_allocs;
        uint64_t gone_peak_bytes; /* the peak without its blocks */
        uint64_t
                brief_peak_bytes; /* the peak if each were freed before anything else is allocated */
        uint64_t
                pool_bytes; /* headers and rounding that a pool of its own would save at the peak */
        uint64_t untouched_bytes; /* of its large blocks, asked for and not touched at any look */
        uint64_t n_grown,
                copied_bytes; /* replaced by larger ones, and what had to be copied for it */
};

struct site_estimates {
        struct site_estimate *rows; /* most saved by being gone first */
        size_t n;
        uint64_t peak_bytes, peak_ns; /* as recorded */
        bool is_exact; /* false: gone_peak_bytes are at least so much, brief and pools are not known */
        bool is_sampled;   /* and all are estimates: */
        double peak_error; /* standard error of peak_bytes */
        bool has_no_peak;  /* peak_bytes are what was live at the one moment that the source has */
        uint64_t n_lost;   /* events that the recording lacks */
        bool knows_moves;
};

/* Of one process, or QUERY_ALL. The n_top with most at the peak, SITE_ESTIMATES_MAX at most. */
int site_estimates_make(struct site_estimates *e, struct query *q, const struct frame_names *names,
                        uint32_t process, size_t n_top, struct err *reterr);
void site_estimates_done(struct site_estimates *e);
