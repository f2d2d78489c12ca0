/* SPDX-License-Identifier: MIT */
/* Was a signal meant for silt alone, or for the whole process group? The kernel tells the receiver who sent it, not to
 * whom: `kill PID` and `kill -- -PGID` look the same. A signal to the group has reached the target already, and passing
 * it on would deliver it twice.
 *
 * So the supervisor keeps one process more in the group, which does nothing but hold its signals: what it holds too was sent to
 * the group. It also holds what a service manager sends to each process of a service by itself, if it comes to this one
 * within SENTINEL_WAIT_MS. Nobody else knows of it; it dies with the supervisor. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
        SENTINEL_WAIT_MS = 20,
        SENTINEL_STOP_WAIT_MS = 2, /* for SIGTSTP: a SIGCONT that follows must not overtake it */
};

struct sentinel {
        pid_t pid; /* 0: none */
        int fd;    /* questions and answers; -1: none */
};

/* Forks it into the caller's process group. Without a process to be had there is none, and nothing is known. */
void sentinel_start(struct sentinel *s);

/* Whether it got the signal `info` from the same sender, and waits at most wait_ms for that. It forgets the signal. */
bool sentinel_saw(struct sentinel *s, const siginfo_t *info, int wait_ms);

void sentinel_end(struct sentinel *s);
