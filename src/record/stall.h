/* SPDX-License-Identifier: MIT */
/* Does the recorder still work? The supervisor waits for a busy or starved one as long as it takes, but not for one that
 * was stopped (SIGSTOP, a debugger) and is never continued, nor for one that hangs in the kernel for ever.
 *
 * Time is counted in looks, one every STALL_LOOK_MS: while the supervisor itself is stopped, or the machine asleep, none of
 * it passes. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum {
        STALL_LOOK_MS = 250,
        STALL_STOPPED_S = 10, /* stopped, and no CPU time used meanwhile */
        STALL_SILENT_S = 120, /* in any other state */
};

enum stall_verdict {
        STALL_NONE,
        STALL_STOPPED, /* somebody stopped it, and it was not continued */
        STALL_SILENT,  /* it runs, waits or sleeps, and has not used any CPU time */
};

struct stall_watch {
        pid_t pid;
        uint64_t cpu_ns;    /* as last seen */
        uint32_t n_stopped; /* looks in a row that found it stopped */
        uint32_t n_silent;  /* looks in a row without progress */
};

void stall_begin(struct stall_watch *p, pid_t pid);

/* To be called every STALL_LOOK_MS. */
enum stall_verdict stall_look(struct stall_watch *p);

/* The rule alone: what a look that found this makes of it. */
enum stall_verdict stall_judge(struct stall_watch *p, char state, uint64_t cpu_ns);
