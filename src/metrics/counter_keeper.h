/* SPDX-License-Identifier: MIT */
/* Counters that never go down while the endpoint lives, whatever is read: a program may replace itself, be recorded again under the same
 * pid, or have its components called otherwise when names are found. Each source's highest value counts, and they add up. */
#pragma once

#include <stdint.h>

#include "base/map.h"

enum { COUNTER_KEEPER_MAX = 1 << 18 }; /* then all that were not asked for in the last round go */

/* Values by hashes of 64 bits: of a series, and of a series with a source of it. */
struct counter_keeper {
        struct map now,
                before; /* of this round and the one before, and older ones while there is room */
};

void counter_keeper_done(struct counter_keeper *k);
/* A new round of values begins. */
void counter_keeper_begin(struct counter_keeper *k);
/* The source, one process of one recording, has counted up to `raw`. Returns what is to be told. */
uint64_t counter_keeper_count(struct counter_keeper *k, uint64_t series, uint64_t source,
                              uint64_t raw);
