/* SPDX-License-Identifier: MIT */
/* The kernel's clock and switch events of threads, and a ring for each CPU they all write to. Nothing of the process is changed
 * or stopped: the kernel looks at a thread while it runs there.
 *
 * Threads and processes that a followed thread starts are followed too, so a program that is started needs one add, and a running
 * one an add for each of its threads. A thread that is started between two adds may be followed twice: `root` tells by whom.
 *
 * A thread's own clock begins with a whole period, so that one which is over before is never seen, and a program of short threads looks as if
 * it did nothing. For these there are clocks of CPUs, which sample whoever is there, other programs too: only if it must be so (widen).
 * Call order: open → add … → (perf_ring_*) … → close. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "tick/perf_ring.h"

enum perf_event_kind {
        PERF_EVENT_OTHER = 0,
        PERF_EVENT_CLOCK,  /* a period of CPU time is over */
        PERF_EVENT_SWITCH, /* the thread leaves its CPU; unless turned off */
        PERF_EVENT_SOME,   /* the same, one of many times; its records of switches are of all */
        PERF_EVENT_WIDE,   /* a period of a CPU is over */
};

struct perf_events_wish {
        uint64_t period_ns; /* of CPU time between two samples of a thread */
        bool off_cpu;       /* also when threads wait, and where */
        bool on_exec;       /* nothing until the thread becomes another program */
        bool children;      /* threads are always followed, processes they start only so */
};

struct perf_events {
        struct perf_events_wish wish;
        /* by CPU, then by CPU again for samples of waits alone: however many those are, records of switches have room; those of
         * CPUs that are off have no map */
        struct perf_ring *rings;
        int *ring_fds; /* the same */
        size_t n_cpus, n_rings;
        VEC(int) fds;        /* of threads */
        VEC(int) clock_fds;  /* of them, the clocks */
        VEC(int) switch_fds; /* of them, PERF_EVENT_SWITCH */
        VEC(int) wide_fds;   /* clocks of CPUs */
        struct map kinds;    /* identifier → kind and root */
        uint32_t stack_bytes;
        bool is_short;      /* the rings have no room for more of the stacks */
        bool is_wide;       /* the clocks are those of CPUs, and samples of others come too */
        bool sees_kernel;   /* false: time in the kernel is not told */
        bool sees_switches; /* samples where threads wait; without the kernel there are none */
        int poll_fd;        /* readable when a ring has something; one descriptor for all */
};

/* Refused: with one line that names the setting, its value and what to do. */
int perf_events_open(struct perf_events *e, const struct perf_events_wish *wish,
                     struct err *reterr);
void perf_events_close(struct perf_events *e);

/* 0; -ESRCH: the thread is over. */
int perf_events_add(struct perf_events *e, pid_t tid, struct err *reterr);

/* From now on clocks of CPUs and no longer of threads. False: not permitted, or too many CPUs; all is as it was. */
bool perf_events_widen(struct perf_events *e);

/* Whether PERF_EVENT_SWITCH comes, of all threads. */
void perf_events_sample_switches(struct perf_events *e, bool is_on);

/* ret_root: the thread that was added, of the event with this identifier. */
enum perf_event_kind perf_events_kind(const struct perf_events *e, uint64_t id, pid_t *ret_root);

/* No thread that was added, nor any that came from it, lives. */
bool perf_events_are_over(const struct perf_events *e);
