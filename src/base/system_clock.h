/* SPDX-License-Identifier: MIT */
/* Clocks as one number, so that a deadline is a sum and a duration a difference. In the target wire/sys.h asks without libc. */
#pragma once

#include <stdint.h>
#include <time.h>

/* 0: there is no such clock, as that of a process that has ended. */
static inline uint64_t clock_ns(clockid_t clock) {
        struct timespec t = {0};

        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For deadlines and durations: it is never set. */
static inline uint64_t clock_now_ns(void) {
        return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_now_ms(void) {
        return clock_now_ns() / 1000000;
}

/* For what work costs: time spent waiting for a turn is not in it. */
static inline uint64_t clock_thread_cpu_ns(void) {
        return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
