/* SPDX-License-Identifier: MIT */
/* What memory does that a snapshot is taken for (docs/snapshots.md): it reaches a threshold, it is higher than ever, or the kernel presses
 * for it. Each kind is bounded by itself: a threshold counts once, a peak is 5 % above the one before, pressure is told ever more rarely. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SNAPSHOT_MAX_LEVELS = 16, SNAPSHOT_MAX_PRESSURE = 100 };

/* Of resident memory. */
struct snapshot_level {
        uint64_t bytes; /* 0: pct */
        double pct;     /* of what the cgroup allows, or of the machine's memory */
        char text[16];  /* as it was written: "1G", "90%" */
};

struct snapshot_levels {
        struct snapshot_level of[SNAPSHOT_MAX_LEVELS];
        size_t n;
};

/* "500M,1G,90%". Nothing is added on failure. */
int snapshot_levels_parse(const char *list, struct snapshot_levels *ret, struct err *reterr);

struct snapshot_causes {
        const struct snapshot_levels *levels;
        uint32_t passed; /* a bit for each level */
        bool has_looked;
        bool with_peaks, with_pressure;
        uint32_t n_peaks, n_pressure;
        uint64_t peak_bytes, next_peak_ns;
        uint64_t next_pressure_ns;
};

/* At one moment. */
struct snapshot_sight {
        uint64_t now_ns;
        uint64_t live_bytes, rss_bytes; /* of all processes */
        uint64_t limit_bytes;           /* 0: unknown */
        bool is_pressed;
};

/* levels stay the caller's. */
void snapshot_causes_init(struct snapshot_causes *c, const struct snapshot_levels *levels,
                          bool with_peaks, bool with_pressure);
/* The name of a snapshot that is due, into ret; false: none (any more). To be asked until then, with the same sight. */
bool snapshot_causes_next(struct snapshot_causes *c, const struct snapshot_sight *s, char ret[32]);
