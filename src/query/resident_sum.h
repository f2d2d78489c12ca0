/* SPDX-License-Identifier: MIT */
/* Resident memory of processes added up, sample by sample: who has ended counts no more. Inside query/ only. */
#pragma once

#include "query/process_ends.h"
#include "query/query.h"

struct resident_sum {
        const struct query *q;
        uint32_t process;           /* QUERY_ALL, or the one that counts */
        struct query_resident *now; /* one a process */
        struct query_resident all;
        struct process_ends ends;
        uint32_t
                late; /* the latest sample's process, if that had ended: it counts at that moment only */
};

void resident_sum_init(struct resident_sum *s, const struct query *q, uint32_t process);
void resident_sum_done(struct resident_sum *s);

/* Takes away what counted at the latest sample's moment only. */
void resident_sum_settle(struct resident_sum *s);

/* Takes the next process away that ended before time_ns, and says when it did. False: no more did. */
bool resident_sum_end(struct resident_sum *s, uint64_t time_ns, uint64_t *ret_end_ns);

/* Takes away who ended before the sample, then counts it. False: it is of a process that does not count. */
bool resident_sum_take(struct resident_sum *s, const struct trace_sample *sample);
