/* SPDX-License-Identifier: MIT */
/* Signals that come to silt are the target's: each reaches it once. Those that went to the whole process group, from the
 * terminal or by kill, have reached it already. When job control stops the target, silt stops with it, so that the
 * shell sees it. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "record/sentinel.h"

struct relay {
        pid_t target;
        struct sentinel sentinel; /* tells signals to silt from those to its group */
        bool awaits_stop;         /* SIGTSTP was passed on, and the target has not stopped yet */
};

/* The target is there and in silt's group. */
void relay_begin(struct relay *r, pid_t target);
void relay_end(struct relay *r);

/* What silt blocks and takes with sigwaitinfo: all that is passed on, and SIGCHLD. */
void relay_signals(sigset_t *ret);
void relay_pass_on(struct relay *r, const siginfo_t *info);

/* Stops silt until it is continued. */
void relay_stop(struct relay *r);
