/* SPDX-License-Identifier: MIT */
/* One run of a program within a limit, without silt in it: how it ended, and what its group used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lab/limit_group.h"

struct trial_plan {
        const struct place *place;
        const char *maker; /* NULL: the first that can */
        char **argv;
        struct group_limits limits;
        uint64_t timeout_ns; /* then it is killed; 0: never */
        bool keeps_output;   /* else its standard output and error are discarded */
};

struct trial {
        enum group_maker maker;
        int wait_status;
        bool timed_out;
        bool was_killed; /* by the kernel, because the group was full */
        uint64_t run_ns;
        struct group_usage usage;
        uint64_t max_rss_bytes; /* of the largest process */
};

/* 0; negative: it could not be run. */
int trial_run(const struct trial_plan *plan, struct trial *ret, struct err *reterr);
