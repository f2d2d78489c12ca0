/* SPDX-License-Identifier: MIT */
/* Which addresses a release must be looked up for: those of a class that a chosen block (sample.h) or a block of the early
 * arena is in. Neighbours are in neighbouring classes, so that what is released together is looked for in few cache
 * lines. Usable before libsilt.so is relocated. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { SAMPLE_FILTER_SIZE = 65536, SAMPLE_FILTER_STUCK = 255 };

/* How many chosen blocks of each class are alive; STUCK: nobody counts any more. */
extern _Atomic uint8_t sample_filter[SAMPLE_FILTER_SIZE];

static inline size_t sample_class(uint64_t block) {
        return (block >> 6) % SAMPLE_FILTER_SIZE; /* as in malloc_enter.S */
}

static inline bool sample_may_have(const void *block) {
        return atomic_load_explicit(&sample_filter[sample_class((uint64_t)block)],
                                    memory_order_relaxed) != 0;
}

/* For good: blocks of the early arena are few. */
static inline void sample_mark_early(const void *block) {
        atomic_store_explicit(&sample_filter[sample_class((uint64_t)block)], SAMPLE_FILTER_STUCK,
                              memory_order_relaxed);
}

#pragma GCC visibility pop
