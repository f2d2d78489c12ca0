/* SPDX-License-Identifier: MIT */
/* All processes together, event by event: the sum of the own live blocks of those that have not
 * ended. Inside query/ only. */
#pragma once

#include "query/ends.h"
#include "query/replay.h"

struct crowd {
        struct ends ends;
        int64_t *own_bytes, *own_blocks; /* one a process; of the dead what they left */
        bool *is_dead;
        int64_t bytes, blocks; /* of all alive */
};

/* As the state says; processes that ended before time_ns are dead. inherit_load must have run. */
void crowd_init(struct crowd *c, const struct query *q, const struct state *s, uint64_t time_ns);
void crowd_done(struct crowd *c);
void crowd_step(struct crowd *c, const struct replay_step *step);
void crowd_bury(struct crowd *c, uint64_t time_ns); /* those that ended before time_ns */
