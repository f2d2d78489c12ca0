/* SPDX-License-Identifier: MIT */
/* The counter behind event times, as the recorder uses it: which one, how fast, and its unit turned
 * into nanoseconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"

/* enum wire_clock: the CPU's counter where it is steady and the target reads the same one. */
uint32_t counter_kind(bool target_is_emulated);
uint64_t counter_now(uint32_t clock);

/* Both clocks at one time. */
struct counter_moment {
        uint64_t ns, ticks; /* CLOCK_MONOTONIC; the CPU's counter */
};
struct counter_moment counter_moment(void);
/* since: an earlier moment. The longer ago, the less there is to wait for where the rate has to be measured. */
uint64_t counter_hz(uint32_t clock, const struct counter_moment *since);
