/* SPDX-License-Identifier: MIT */
/* What is kept of one process between two scrapes, because it takes long to find: leaks of its newest graph, findings, its allocators' books.
 * Inside metrics/ only. */
#pragma once

#include "metrics/outside.h"
#include "query/query.h"

enum { PROCESS_LOOK_MAX_FINDINGS = 24, PROCESS_LOOK_MAX_KIND = 32 };

struct process_look {
        uint32_t process;
        uint64_t round; /* of the last scrape that told of it */
        struct outside outside;

        size_t n_graphs; /* of the recording when they were looked at */
        bool has_leaks;
        uint64_t leaked_bytes, leaked_blocks;

        struct process_finding {
                char kind[PROCESS_LOOK_MAX_KIND]; /* as the report calls it: "growing" */
                uint32_t n;
        } findings[PROCESS_LOOK_MAX_FINDINGS];
        size_t n_findings;
        uint64_t next_findings_ns; /* monotonic; a hundredth of the time goes into them */
};

/* Nothing is done where nothing can have changed. What cannot be read leaves what was known. */
void process_look_at_leaks(struct process_look *l, struct query *q);
void process_look_at_findings(struct process_look *l, struct query *q);
