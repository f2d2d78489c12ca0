/* SPDX-License-Identifier: MIT */
/* How many samples of waits a program pays for, all its threads together: each costs it a copy of its stack. The kernel bounds them for one
 * thread alone, and badly. Beyond the bound they are turned off, but for one of many (perf_events.c), and tried again after a
 * while. Inside tick/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed to begin with, but for since_ns: now. */
struct switch_limit {
        uint64_t n_samples; /* since the last turn or window: the caller adds to it */
        uint64_t since_ns;
        bool is_off;
};

/* After the samples up to now were added; true: is_off is another now. */
bool switch_limit_turns(struct switch_limit *l, uint64_t now_ns);
