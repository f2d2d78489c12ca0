/* SPDX-License-Identifier: MIT */
/* The counter that orders events. Read without a barrier: the few hundred nanoseconds by which a CPU
 * may read it early are what the recorder's inversion repair is for. Where that has nothing to go
 * by, clock_wait_for_loads comes first. */
#pragma once

#include <stdint.h>

static inline uint64_t clock_counter(void) {
        uint64_t v;

#if defined(__aarch64__)
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
#elif defined(__x86_64__)
        uint32_t lo, hi;

        __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
        v = (uint64_t)hi << 32 | lo;
#else
#error "aarch64 and x86_64 only"
#endif
        return v;
}

/* Everything the program has read by now was written before what the counter says next. */
static inline void clock_wait_for_loads(void) {
#if defined(__aarch64__)
        __asm__ volatile("isb" ::: "memory");
#else
        __asm__ volatile("lfence" ::: "memory");
#endif
}
