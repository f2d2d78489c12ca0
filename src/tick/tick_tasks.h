/* SPDX-License-Identifier: MIT */
/* The threads and processes that are followed, by the numbers the kernel has for them. Inside tick/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "tick/ticker.h"

enum {
        TICK_NAME_BYTES = 16,
        TICK_N_LENGTHS = 12, /* of waits, each twice the one before */
        TICK_N_GAPS = 32,    /* if there are more, those that are nearest to each other are one */
};

struct tick_process {
        pid_t pid;
        uint32_t tag; /* the callee's number */
        uint32_t n_threads;
        struct remote_space *space;
};

/* Why a thread is off its CPU, since when, and where it left it. */
struct tick_wait {
        uint64_t since_ns; /* 0: it is on a CPU, as far as is known */
        uint64_t told_ns;  /* up to here it was told of */
        bool is_preempted;
        bool is_looked; /* nobody told where, and it was asked for */
        bool has_path;  /* the path below is of this wait; else of an earlier one, or none */
        /* waits that had no path, by how long they were: they go with the next of their length that has one */
        struct tick_bare {
                uint64_t ns, n, since_ns;
        } bare[TICKER_N_STATES][TICK_N_LENGTHS];
        uint64_t *pcs; /* kernel frames, then the program's */
        size_t n_kernel, n_pcs, cap;
        enum remote_end end;
};

/* How long a thread ran, by the records of its coming and going, and how much of that its samples stand for. The first sample comes
 * when a whole period is over, on each CPU: what is left is known only in sum. */
struct tick_run {
        bool is_known;     /* since when it counts; before that nothing does */
        uint64_t since_ns; /* 0: it does not run */
        uint64_t until_ns; /* it ran last */
        uint64_t ran_ns, sampled_ns;
        uint64_t kernel_told_ns; /* of the kernel's count, told without samples */
        struct {
                uint64_t ns, at_ns; /* at_ns 0: none */
        } count;                    /* of the kernel, while records of before are to come */
        bool is_counted;            /* once at least; the last time: */
        uint64_t counted_ns, counted_ran_ns;
        uint64_t before_ns; /* counted by then, and ran before that is known */
        uint64_t stolen_ns; /* of ran_ns others had at least so much */
        uint64_t owed_ns;   /* counted as its own, and not sampled */
        /* at its last sample; 0: none yet */
        uint64_t period_ns, sampled_until_ns, sampled_ran_ns;
        /* When it ran without samples, and for how long of that, rising. Of the newest the part behind is told first. */
        struct tick_gap {
                uint64_t begin_ns, end_ns, ran_ns;
        } gaps[TICK_N_GAPS];
        size_t n_gaps;
};

struct tick_thread {
        pid_t tid;
        pid_t root; /* the thread that was added and from which it came; 0: not yet known */
        uint32_t tag;
        size_t living_idx;
        uint64_t over_ns; /* it has ended, and clocks of CPUs may still see it go; 0: it lives */
        struct tick_process *process;
        char name[TICK_NAME_BYTES];
        struct tick_run run;
        struct tick_wait wait;
};

struct tick_tasks {
        const struct ticker_calls *calls;
        struct map threads, processes; /* number → pointer; 0: over */
        VEC(struct tick_thread *) living;
};

void tick_tasks_init(struct tick_tasks *k, const struct ticker_calls *calls);
void tick_tasks_done(struct tick_tasks *k);

struct tick_thread *tick_tasks_find(const struct tick_tasks *k, pid_t tid); /* NULL: unknown */
/* Found, or added with its process, as one that nobody told of. */
struct tick_thread *tick_tasks_get(struct tick_tasks *k, pid_t pid, pid_t tid, uint64_t time_ns);

/* A thread, or the first of a new process. One that is there already stays as it is. */
struct tick_birth {
        pid_t parent_pid, parent_tid, pid, tid;
        uint64_t time_ns;
};
void tick_tasks_fork(struct tick_tasks *k, const struct tick_birth *b);
/* The process is another program now, with one thread. */
void tick_tasks_exec(struct tick_tasks *k, pid_t pid, pid_t tid, const char *name,
                     uint64_t time_ns);
void tick_tasks_name(struct tick_tasks *k, pid_t pid, pid_t tid, const char *name,
                     uint64_t time_ns);
/* With the last thread its process ends. */
void tick_tasks_exit(struct tick_tasks *k, pid_t tid, uint64_t time_ns);
