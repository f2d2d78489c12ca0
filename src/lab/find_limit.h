/* SPDX-License-Identifier: MIT */
/* The smallest limit with which a program survives: found by bisection. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum find_why {
        FIND_SURVIVED,
        FIND_KILLED, /* by the kernel, because memory was full */
        FIND_STATUS, /* it ended with another status than without a limit */
        FIND_TIME,   /* it took much longer than without */
};

struct find_step {
        uint64_t limit_bytes;
        unsigned n_runs, n_survived; /* runs stop at the first that did not */
        enum find_why why;           /* of the last run */
        int wait_status;
};

struct find_plan {
        void *ctx;
        unsigned n_runs;          /* that must survive */
        uint64_t start_bytes;     /* what it used without a limit: where the search begins */
        uint64_t granule_bytes;   /* a limit is a multiple of it */
        unsigned precision_parts; /* the answer is right to one part in so many */
        /* One run with this limit. Negative: it could not be run. */
        int (*run)(void *ctx, uint64_t limit_bytes, struct find_step *step, struct err *reterr);
        void (*tell)(void *ctx, const struct find_step *step); /* after each limit; NULL: silent */
};

struct find_answer {
        struct find_step survived; /* the smallest that did */
        struct find_step
                failed; /* the largest below it that did not; limit_bytes 0: none did not */
        unsigned n_steps, n_runs;
};

int find_limit(const struct find_plan *plan, struct find_answer *ret, struct err *reterr);
