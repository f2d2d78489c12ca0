/* SPDX-License-Identifier: MIT */
/* Whether the kernel presses for memory: it holds up who wants more, or makes room for it, and the limit is near though usage may not
 * show it. A part of the recorder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rooms_one;

/* Counters of a group, or of the machine, when they were looked at last. */
struct pressure {
        uint64_t n_hits, waited_us, read_ns;
        bool is_near;
};

/* Since the last time, as far as it was read anew. */
bool pressure_rose(struct pressure *p, const struct rooms_one *one);
/* Version 1, where nobody counts the waiting by group, and the limit is hit whenever files are read: whether what cannot be dropped has
 * come near the limit since the last time. */
bool pressure_came_near(struct pressure *p, const struct rooms_one *one);
