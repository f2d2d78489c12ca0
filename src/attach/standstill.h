/* SPDX-License-Identifier: MIT */
/* All threads of a process, none of which runs. Each is stopped for as long; calls that ended only for that are made again, as safepoint.h does it. A thread
 * that sleeps in a call which cannot be made again is left asleep, and was only seen to sleep on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/safepoint.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "base/vec.h"

struct standstill_thread {
        struct tracee thread;
        struct safepoint_wait wait; /* what it sleeps in, where again or is_left say that it does */
        enum machine_again again;
        uint64_t repaired; /* safepoint_repair, or behind the call that was AGAIN_LATE */
        bool is_left;      /* asleep and not traced: wait.call has what is known of it */
        char state;        /* when it was looked at */
};

/* Threads in calls with a time-out that a stop would end. What is left of it knows who has seen them go to sleep. */
struct standstill_seen {
        pid_t tid;
        uint64_t n_switches, since_ns;
        bool began_here;
};
struct standstill_watch {
        VEC(struct standstill_seen) list;
        bool gives_in; /* those that slept before are stopped all the same: they sleep from when they were first seen */
};

/* Until all of them were seen to begin, or the time is up; they run. Free the list afterwards. */
void standstill_watch(struct standstill_watch *w, const struct target *t, uint64_t patience_ms);

/* Until one of them sleeps, or the time is up; they run. One that waits for a processor at the end of a call stands between two states when it is stopped,
 * and can make no other call: on a busy machine a program that sleeps for a millisecond at a time is nearly always there. */
void standstill_await_sleep(const struct target *t, uint64_t patience_ms);

struct standstill {
        const struct target *target;
        struct standstill_watch *watch;
        VEC(struct standstill_thread) list;
};

/* 0; -ETIMEDOUT: one of them does not stop; -EAGAIN: job control stops it; -errno. standstill_end in any case. */
int standstill_begin(struct standstill *s, const struct target *t, struct standstill_watch *w,
                     uint64_t until_ns);

/* The same for one of them alone, which was looked at before. */
int standstill_one(struct standstill *s, const struct target *t, struct standstill_watch *w,
                   pid_t tid, const struct thread_look *look, uint64_t until_ns);

/* False when one that was left asleep has woken up since standstill_begin, or another is there. */
bool standstill_holds(const struct standstill *s);

/* The idx-th best thread to make system calls in, with all that is to be put back; false: there are no more. That thread is the caller's then. */
bool standstill_lend(struct standstill *s, unsigned idx, struct safepoint *ret);
void standstill_forget(struct standstill *s, pid_t tid); /* it was let go */

/* Since when the first of them stands still; 0: none does. */
uint64_t standstill_since_ns(const struct standstill *s);

/* All go on. ret_end_ns: when those that stood still did; others, which were only asked to, have to be waited for. */
void standstill_end(struct standstill *s, uint64_t *ret_end_ns);
