/* SPDX-License-Identifier: MIT */
/* Which addresses a release must be looked up for: those of a class that a chosen block (sample.h) or a block of the early
 * arena is in. A bit for each class is all that most releases look at: 8 KiB, which stay in the CPU's first cache.
 * Neighbours are in neighbouring classes, so that what is released together is looked for in one word. Usable before libsilt.so
 * is relocated. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { SAMPLE_N_CLASSES = 65536 };

/* Whether there are chosen blocks of a class; as in malloc_enter.S. */
extern _Atomic uint64_t sample_filter[SAMPLE_N_CLASSES / 64];

/* How many of them are alive. Where there are some the bit is set. */
enum {
        SAMPLE_CLASS_CLEARING = 254, /* none, and its bit is being cleared */
        SAMPLE_CLASS_STUCK = 255,    /* nobody counts any more: the bit stays */
};
extern _Atomic uint8_t sample_classes[SAMPLE_N_CLASSES];

static inline size_t sample_class(uint64_t block) {
        return (block >> 6) % SAMPLE_N_CLASSES;
}

/* release, acquire: whoever clears a bit that sample_mark_early has set sees why. */
static inline void sample_set_bit(size_t class) {
        atomic_fetch_or_explicit(&sample_filter[class / 64], UINT64_C(1) << class % 64,
                                 memory_order_release);
}

static inline void sample_clear_bit(size_t class) {
        atomic_fetch_and_explicit(&sample_filter[class / 64], ~(UINT64_C(1) << class % 64),
                                  memory_order_acquire);
}

static inline bool sample_may_have(const void *block) {
        size_t class = sample_class((uint64_t)block);

        return atomic_load_explicit(&sample_filter[class / 64], memory_order_relaxed) >>
                       class % 64 &
               1;
}

/* For good: blocks of the early arena are few. */
static inline void sample_mark_early(const void *block) {
        size_t class = sample_class((uint64_t)block);

        atomic_store_explicit(&sample_classes[class], SAMPLE_CLASS_STUCK, memory_order_relaxed);
        sample_set_bit(class);
}

/* A chosen block is alive from now on. False: somebody is about to clear its bit, and nobody may wait for that, since it may
 * be the very thread that was interrupted there. */
bool sample_enter_class(size_t class);
void sample_leave_class(size_t class);

/* No chosen block is alive. */
void sample_clear_classes(void);

#pragma GCC visibility pop
