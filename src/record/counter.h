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
uint64_t counter_hz(uint32_t clock);
