/* SPDX-License-Identifier: MIT */
/* Whether a recording keeps within limits, for tests that run by themselves: as text, or JSON (schema silt.check/1).
 * docs/diff.md tells what is measured and when a check passes. */
#pragma once

#include "base/vec.h"
#include "diff/diff.h"
#include "keep/kept_leaks.h"

enum limit_kind {
        LIMIT_PEAK,
        LIMIT_END,
        LIMIT_GROWTH,
        LIMIT_ALLOCATED,
        LIMIT_ALLOCATIONS,
        LIMIT_TEMPORARY_SHARE,
        LIMIT_RSS,
        LIMIT_CPU,      /* samples of time */
        LIMIT_BLOCKED,  /* likewise */
        LIMIT_LEAKED,   /* what nothing points to any more, by the graph of the trace */
        LIMIT_FUNCTION, /* what blocks on whose call path it is held at the peak */
        LIMIT_AGAINST,  /* a metric, compared with another recording */
        LIMIT_N_KINDS,
};

enum limit_unit {
        LIMIT_IN_BYTES,
        LIMIT_IN_COUNT,
        LIMIT_IN_NS,
        LIMIT_IN_PERCENT,
        LIMIT_IN_BYTES_PER_S,   /* growth … */
        LIMIT_IN_PERCENT_PER_S, /* … of what was live when it began */
};

struct limit {
        enum limit_kind kind;
        enum limit_unit unit;
        double limit;         /* rates: in a second */
        const char *text;     /* as it was written */
        const char *function; /* LIMIT_FUNCTION */
        const char
                *metric;  /* LIMIT_AGAINST; NULL until it is measured: what diff compares unasked */
        uint32_t of_unit; /* LIMIT_AGAINST, once it is measured: enum trace_unit */
        double rate_s;    /* rates: the time they were written for: 60 for 1%/min */
        const char *rate_name;
};

struct check_options {
        struct diff_source source;
        suppression_files suppressions; /* of leaks */
        const char *against;            /* the recording to compare with; NULL: none */
        VEC(struct limit) limits;
        bool json;
        bool strict; /* what cannot be told, or is not whole, is trouble */
};

enum check_status { CHECK_OK, CHECK_FAILED, CHECK_UNTOLD };

/* Opens the trace and prints how it keeps the limits. Nothing is printed when it fails. */
int check_print(FILE *out, const struct check_options *options, enum check_status *ret_status,
                struct err *reterr);
