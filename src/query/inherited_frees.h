/* SPDX-License-Identifier: MIT */
/* Which releases of a forked child were of blocks it inherited. Rows say how many, but those of older traces do
 * not, and none say which of a slice's releases. The sequence numbers of the events do: a child's own
 * blocks are all younger than those it inherited. Only asked when all processes are added up; the events read are
 * those of slices with forks, and in older traces those in which a child releases at a site it
 * inherited from. Inside query/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct query;

struct inherited_release {
        size_t slice_idx;
        uint32_t process, stack;
        uint64_t n_frees, free_bytes;
};

struct inherited_frees {
        VEC(struct inherited_release) releases; /* that the rows do not say, by slice */
        /* one a process, both 0 when it inherited nothing: from first_seq on blocks are its own, before unsure_seq
         * they are inherited. What lies between was allocated in the slice of the fork, whose events are missing. */
        uint64_t *first_seq, *unsure_seq;
        bool is_loaded;
        bool lacks_events; /* some were needed and are not in the file */
        bool is_unsure;    /* a release had to be guessed since the question was asked */
};

void inherited_load(struct query *q);
/* The process whose blocks it began with; TRACE_NO_PROCESS: it inherited nothing, as after an exec or a spawn.
 * inherited_load must have run. */
uint32_t inherited_parent(const struct query *q, uint32_t process);
/* Whether some process ended before one that inherited from it. inherited_load must have run. */
bool inherited_outlives(const struct query *q);
void inherited_done(struct inherited_frees *h);
