/* SPDX-License-Identifier: MIT */
/* What the processes of a sampled recording did, sampled or not: sums that their threads keep in the arena. They are
 * read there at any time, and once more when a thread is gone; a thread that is killed leaves them. */
#pragma once

#include <stdint.h>

#include "trace/model.h"

struct pipeline;
struct process;
struct wire_slot;

struct tally {
        uint64_t n_allocs, alloc_bytes, n_frees, n_reallocs;
        uint64_t n_samples, sample_ticks; /* samples taken, and the time that took */
};

/* Sets the sums of a slot back, which nobody owns. */
void tally_reset(struct wire_slot *slot);

/* Of a thread that is gone. */
void tally_take(struct process *process, const struct wire_slot *slot);

/* All that the process did so far. */
struct tally tally_of(const struct pipeline *p, const struct process *process);

/* Writes the sums of a process (or of all) into the trace. */
void tally_write(struct pipeline *p, struct process *process);
void tally_write_all(struct pipeline *p);

/* Time that the threads of a process spent taking samples, as they measured it, and counting, as it was measured once. */
uint64_t tally_sample_ns(const struct pipeline *p, const struct tally *t);
uint64_t tally_count_ns(const struct tally *t);
