/* SPDX-License-Identifier: MIT */
/* Does the recorder still work? The front waits for a busy or starved one as long as it takes, but not for one that
 * was stopped (SIGSTOP, a debugger) and is never continued, nor for one that hangs in the kernel for ever.
 *
 * Time is counted in looks, one every PULSE_LOOK_MS: while the front itself is stopped, or the machine asleep, none of
 * it passes. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum {
        PULSE_LOOK_MS = 250,
        PULSE_STOPPED_S = 10, /* stopped, and no CPU time used meanwhile */
        PULSE_SILENT_S = 120, /* in any other state */
};

enum pulse_verdict {
        PULSE_BEATS,
        PULSE_STOPPED, /* somebody stopped it, and it was not continued */
        PULSE_SILENT,  /* it runs, waits or sleeps, and has not used any CPU time */
};

struct pulse {
        pid_t pid;
        uint64_t cpu_ns;    /* as last seen */
        uint32_t n_stopped; /* looks in a row that found it stopped */
        uint32_t n_silent;  /* looks in a row without progress */
};

void pulse_begin(struct pulse *p, pid_t pid);

/* To be called every PULSE_LOOK_MS. */
enum pulse_verdict pulse_look(struct pulse *p);

/* The rule alone: what a look that found this makes of it. */
enum pulse_verdict pulse_judge(struct pulse *p, char state, uint64_t cpu_ns);
