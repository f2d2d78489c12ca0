/* SPDX-License-Identifier: MIT */
/* All processes together, event by event: the sum of the own live blocks of those that have not
 * ended. Inside query/ only. */
#pragma once

#include "query/process_ends.h"
#include "query/replay.h"

struct process_sum {
        struct process_ends ends;
        int64_t *own_bytes, *own_blocks; /* one a process; of the dead what they left */
        bool *is_dead;
        int64_t bytes, blocks; /* of all alive */
};

/* As the state says; processes that ended before time_ns are dead. inherited_load must have run. */
void process_sum_init(struct process_sum *c, const struct query *q, const struct state *s,
                      uint64_t time_ns);
void process_sum_done(struct process_sum *c);
void process_sum_step(struct process_sum *c, const struct replay_step *step);
void process_sum_bury(struct process_sum *c,
                      uint64_t time_ns); /* those that ended before time_ns */
