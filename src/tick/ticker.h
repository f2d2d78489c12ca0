/* SPDX-License-Identifier: MIT */
/* Looks at the threads of a program from outside, so often, and tells what each did: a tick is one look at one thread, which ran,
 * waited, or could have run, at a call path. Threads and processes are told of as they come, go and get their names; the
 * callee's numbers for them come back with each tick.
 *  - times are those of CLOCK_MONOTONIC, rising but for what CPUs saw within microseconds of each other
 *  - what the kernel had no room for is counted (ticker_stats) and nothing waits for room
 *
 * Owner: one thread. Call order: new → follow_* → (sleep on ticker_poll_fd) → drain … → end → free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "remote/remote_walk.h"

enum ticker_state { TICKER_RUNS = 0, TICKER_BLOCKED, TICKER_READY, TICKER_N_STATES };

/* A call path: kernel frames, then the program's, innermost first. The first of each is one behind where it was. */
struct ticker_path {
        const uint64_t *kernel_pcs, *pcs;
        size_t n_kernel, n_pcs;
        enum remote_end end;
};

struct ticker_tick {
        uint32_t process, thread; /* as the callee numbered them */
        enum ticker_state state;
        uint64_t time_ns, weight_ns; /* it stands for so long, until then */
        uint64_t n_samples;
        uint64_t
                borrowed_ns; /* of its time: of waits like this one, whose own call path nobody saw */
        struct ticker_path path;
        struct remote_space *space; /* of the process, for locating pcs */
};

struct ticker_process {
        pid_t pid;
        uint32_t parent; /* as the callee numbered it; UINT32_MAX: none that is known */
        uint64_t time_ns;
        bool is_exec;   /* `parent` is what the same pid was until now, and it is over */
        bool was_there; /* when looking began */
        const char *name;
};

/* All are there. */
struct ticker_calls {
        void *ctx;
        uint32_t (*on_process)(void *ctx, const struct ticker_process *p);
        void (*on_process_end)(void *ctx, uint32_t process, uint64_t time_ns);
        uint32_t (*on_thread)(void *ctx, uint32_t process, pid_t tid, uint64_t time_ns);
        void (*on_thread_name)(void *ctx, uint32_t thread, const char *name);
        void (*on_tick)(void *ctx, const struct ticker_tick *t);
};

struct ticker_options {
        uint32_t rate_hz;
        bool off_cpu;
        bool children;
};

enum { TICK_MAX_FRAMES = 1024 /* of a call path */ };

struct ticker_stats {
        uint64_t n_ticks[TICKER_N_STATES],
                ns[TICKER_N_STATES]; /* samples, and what they stand for */
        uint64_t n_lost;             /* records the kernel had no room for */
        uint64_t n_throttled;        /* times the kernel stopped a clock for a while */
        uint64_t n_broken;           /* that made no sense */
        uint64_t n_walks[4];         /* by enum remote_end */
        uint64_t
                unsampled_ns; /* of threads that ended, what no sample stood for: before their first one, after their last one, or between late ones, at no call path */
        uint64_t late_ns;     /* timers were late for it: samples that followed stand for it */
        uint64_t
                uncounted_ns; /* between samples, at no call path: timers were late, or the kernel does not count it as its own */
        uint64_t
                kernel_ns; /* in the kernel, by its own count, where samples of it are not permitted */
        uint64_t pathless_ns; /* of waits, at no call path */
        uint64_t borrowed_ns; /* of waits, at the call path of one like it */
        uint64_t n_hidden;    /* programs the kernel does not let silt sample */
        char hidden_name[16]; /* the first of them */
        bool is_wide;         /* threads were too short: CPUs were sampled */
        bool sees_kernel, sees_switches;
        uint32_t
                short_stack_bytes; /* so little of each stack was copied, as rings are small; 0: enough */
};

struct ticker;

/* Refused where perf events are forbidden: the text says by what. */
int ticker_new(const struct ticker_options *o, const struct ticker_calls *calls,
               struct ticker **ret, struct err *reterr);
struct ticker *ticker_free(struct ticker *t); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct ticker, ticker_free)

/* A child that waits to be run: from its exec on. */
int ticker_follow_child(struct ticker *t, pid_t pid, struct err *reterr);
/* One that runs, with all its threads. */
int ticker_follow_process(struct ticker *t, pid_t pid, struct err *reterr);

int ticker_poll_fd(const struct ticker *t); /* readable: a ring fills */
/* All that happened until now; returns how many records there were. */
size_t ticker_drain(struct ticker *t);
size_t ticker_n_threads(const struct ticker *t); /* that live, as far as is known */
/* Nobody is left: asks the kernel, where a record of somebody's end may be lost. */
bool ticker_is_over(struct ticker *t);
/* What is waited for until now is told; afterwards nothing is. */
void ticker_end(struct ticker *t);

void ticker_get_stats(const struct ticker *t, struct ticker_stats *ret);
