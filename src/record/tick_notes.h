/* SPDX-License-Identifier: MIT */
/* What CPU samples do not tell, in sentences for whoever reads the trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ticker_stats;

/* Beside what the ticker counted. */
struct tick_beside {
        uint64_t n_dropped; /* ticks that found no place in the trace */
        uint64_t
                known_cpu_ns; /* CPU time of the processes by the kernel's own count, or less; 0: not known */
        bool off_cpu; /* waits were asked for */
};

/* What has been told. Zeroed to begin with. */
struct tick_notes {
        uint64_t n_lost, n_throttled, n_hidden;
        bool has_kernel, has_switches, has_wide, has_short;
};

/* While the recording goes on, before a slice ends: what is known of all of it, and the first of what is counted. */
void tick_notes_go_on(struct tick_notes *t, const struct ticker_stats *s,
                      const struct tick_beside *beside, void (*say)(void *ctx, const char *text),
                      void *ctx);

/* The rest. Numbers in notes of the same kind add up. */
void tick_notes_end(struct tick_notes *t, const struct ticker_stats *s,
                    const struct tick_beside *beside, void (*say)(void *ctx, const char *text),
                    void *ctx);
