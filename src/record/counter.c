/* SPDX-License-Identifier: MIT */
#include "record/counter.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "wire/clock.h"

#if defined(__x86_64__)
/* Both flags together mean: one rate, not stopped in sleep, the same on all cores. */
static bool counter_is_steady(void) {
        char text[16384];

        return fs_read_text("/proc/cpuinfo", text, sizeof(text)) > 0 &&
               strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}

enum {
        MEASURED_NS = 2000000,
        MEASURED_MAX_NS = 1000000000,
        MAX_TICKS_PER_NS = 10, /* of any counter */
        N_TRIES = 8
};

/* Of several tries that in which the least time passed around the look at the first, so that
 * nobody else's turn on this core lies between the two. */
struct counter_moment counter_moment(void) {
        struct counter_moment best = {0, 0};
        uint64_t least = UINT64_MAX;

        for (int i = 0; i < N_TRIES; i++) {
                uint64_t before = clock_counter(), ns = clock_now_ns();
                uint64_t around = clock_counter() - before;

                if (around < least) {
                        least = around;
                        best = (struct counter_moment){ns, before + around / 2};
                }
        }
        return best;
}

/* In between, a machine may have slept, which counts in one of them only: commonly in the counter, which may also begin
 * again from 0. */
static bool counter_has_slept(const struct counter_moment *begin,
                              const struct counter_moment *end) {
        uint64_t ns = end->ns - begin->ns;

        return ns > MEASURED_MAX_NS || end->ticks - begin->ticks > ns * MAX_TICKS_PER_NS;
}

/* No architectural register tells the rate: measured once against the clock, good to about 1 in 20,000. The program waits
 * for what is missing of the time. */
static uint64_t counter_measure_hz(const struct counter_moment *since) {
        struct counter_moment begin = *since, end;

        do {
                end = counter_moment();
                if (counter_has_slept(&begin, &end))
                        begin = end;
        } while (end.ns - begin.ns < MEASURED_NS);
        return (uint64_t)((double)(end.ticks - begin.ticks) * 1e9 / (double)(end.ns - begin.ns));
}
#else
static bool counter_is_steady(void) {
        return true; /* the generic timer is, by the architecture */
}

struct counter_moment counter_moment(void) {
        return (struct counter_moment){clock_now_ns(), clock_counter()};
}

static uint64_t counter_measure_hz(const struct counter_moment *since) {
        uint64_t hz;

        (void)since;
        __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
        return hz;
}
#endif

uint32_t counter_kind(bool target_is_emulated) {
        return target_is_emulated || !counter_is_steady() ? WIRE_CLOCK_MONOTONIC
                                                          : WIRE_CLOCK_COUNTER;
}

uint64_t counter_now(uint32_t clock) {
        return clock == WIRE_CLOCK_COUNTER ? clock_counter() : clock_now_ns();
}

uint64_t counter_hz(uint32_t clock, const struct counter_moment *since) {
        return clock == WIRE_CLOCK_COUNTER ? counter_measure_hz(since) : 1000000000u;
}
