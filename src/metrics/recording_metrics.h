/* SPDX-License-Identifier: MIT */
/* The metrics of one recording, from its trace. Inside metrics/ only. */
#pragma once

#include "live/follower.h"
#include "metrics/metric_set.h"
#include "metrics/process_look.h"
#include "metrics/trace_state.h"

enum {
        METRICS_MAX_PROCESSES =
                64, /* of one recording: those that are alive, then those that ended last */
        METRICS_MAX_SITES = 20, /* of one process: those that hold most, and those that grew most */
        METRICS_MAX_COMPONENTS = 50, /* of one process; the others together are "other" */
};
/* Sites grew over so long. */
#define METRICS_WINDOW_NS 60000000000ull

/* One recording that is told. */
struct recording {
        struct follower *f;
        const char *path; /* of the trace; the caller's */
        struct trace_state state;
        uint32_t number;  /* among all that were ever told */
        uint64_t round;   /* scrapes so far */
        bool tells_short; /* of processes that are too short for one scrape after the other, too */
        VEC(struct process_look) looks; /* of those that were told in the last round */
};

void recording_done(struct recording *r);
/* Adds its metrics, of at most max_processes processes, to the set. How many were told, or -errno. */
int recording_metrics_add(struct recording *r, size_t max_processes, struct metric_set *to,
                          struct err *reterr);
