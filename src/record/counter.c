/* SPDX-License-Identifier: MIT */
#include "record/counter.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "wire/clock.h"

static uint64_t counter_monotonic_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
/* Both flags together mean: one rate, not stopped in sleep, the same on all cores. */
static bool counter_is_steady(void) {
        char text[16384];

        return fs_read_text("/proc/cpuinfo", text, sizeof(text)) > 0 &&
               strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}

/* No architectural register tells the rate: measured once against the clock, good to about 1 in 10,000. */
static uint64_t counter_measure_hz(void) {
        uint64_t ns = counter_monotonic_ns(), ticks = clock_counter(), ns_end, ticks_end;

        do {
                ns_end = counter_monotonic_ns();
                ticks_end = clock_counter();
        } while (ns_end - ns < 10000000);
        return (uint64_t)((double)(ticks_end - ticks) * 1e9 / (double)(ns_end - ns));
}
#else
static bool counter_is_steady(void) {
        return true; /* the generic timer is, by the architecture */
}

static uint64_t counter_measure_hz(void) {
        uint64_t hz;

        __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
        return hz;
}
#endif

uint32_t counter_kind(bool target_is_emulated) {
        return target_is_emulated || !counter_is_steady() ? WIRE_CLOCK_MONOTONIC
                                                          : WIRE_CLOCK_COUNTER;
}

uint64_t counter_now(uint32_t clock) {
        return clock == WIRE_CLOCK_COUNTER ? clock_counter() : counter_monotonic_ns();
}

uint64_t counter_hz(uint32_t clock) {
        return clock == WIRE_CLOCK_COUNTER ? counter_measure_hz() : 1000000000u;
}
