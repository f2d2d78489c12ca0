/* SPDX-License-Identifier: MIT */
/* When memory is at a new high and stays there: the moment for a graph, because at the end of a program most has been let go. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { HIGH_MARK_MAX = 4 };

struct high_mark {
        uint64_t level_bytes, since_ns; /* about so much was live since then */
        uint64_t taken_bytes;           /* at the last one */
        uint32_t n;                     /* that were taken */
};

/* To be asked several times a second. True: take one now; there are at most HIGH_MARK_MAX. */
bool high_mark_due(struct high_mark *h, uint64_t now_ns, uint64_t live_bytes);
