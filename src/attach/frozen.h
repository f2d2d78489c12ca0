/* SPDX-License-Identifier: MIT */
/* A process at one moment: a copy of it (copy on write) that never runs, to be read from outside while the process itself runs on. docs/holders.md says how
 * it is made and what it costs.
 *  - the copy is memory as it was while no thread of the process ran
 *  - the process sees no child, no signal, no call that failed
 *  - a helper of silt holds the copy; it ends when silt calls frozen_end, when silt ends, or when the helper does; the process may end before
 * frozen_check → frozen_make → read mem_fd → frozen_end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

enum { FROZEN_MAX_REGS = 32, FROZEN_NAME_BYTES = 16 };

struct frozen_thread {
        pid_t tid;
        uint64_t sp, pc;
        uint64_t regs[FROZEN_MAX_REGS]; /* all general ones */
        unsigned n_regs;
        bool is_partial; /* it was left asleep: of its registers the arguments of its system call are all that is known */
        char name[FROZEN_NAME_BYTES];
};

struct frozen {
        pid_t pid, copy;
        int mem_fd; /* /proc/COPY/mem; owned */
        VEC(struct frozen_thread) threads;
        uint64_t moment_ns;      /* CLOCK_MONOTONIC, and */
        uint64_t moment_counter; /* the counter of wire/clock.h, while all stood still */
        uint64_t pause_ns;       /* at most so long did any thread stand still */
        bool is_moment_missed;   /* at_moment took too long, and the threads went on meanwhile */

        /* inside */
        pid_t keeper, inner_pid;
        int keeper_fd;
};

/* While all threads stand still: they wait for it. */
typedef void frozen_moment(void *ctx, const struct frozen *f);

/* at_moment: NULL: nothing. frozen_check comes first. -errno: refused, and the process is as it was; there is nothing to end then. */
int frozen_make(struct frozen *f, pid_t pid, frozen_moment *at_moment, void *ctx,
                struct err *reterr);

/* The copy is killed and the process takes its status, so that no zombie stays: -errno if one does. */
int frozen_end(struct frozen *f, struct err *reterr);
