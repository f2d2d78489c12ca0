/* SPDX-License-Identifier: MIT */
/* How many samples of waits a program pays for, all its threads together: each costs it a copy of its stack. The kernel bounds them for one
 * thread alone, and badly: it leaves out 27,000 in a row. So there is a sample of each wait until there are too many in a stretch of time, and then of
 * one of many (perf_events.c) until the next stretch. Inside tick/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed to begin with, but for since_ns: now, and window_ns, which may change. */
struct switch_limit {
        uint64_t n_samples; /* since then: the caller adds to it */
        uint64_t since_ns;
        uint64_t window_ns; /* of a stretch; turning many events takes time */
        bool is_off;
};

/* After the samples up to now were added; true: is_off is another now. */
enum { SWITCH_WINDOW_NS = 100000000 };
bool switch_limit_turns(struct switch_limit *l, uint64_t now_ns);
