/* SPDX-License-Identifier: MIT */
/* A thread at a moment when it can make calls for silt: docs/attaching.md says what that takes. */
#pragma once

#include "attach/code.h"
#include "attach/machine.h"
#include "attach/stack.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "base/err.h"

struct safepoint {
        struct tracee thread; /* stopped */
        struct machine_state
                state; /* what it is to have again: a call that was interrupted is about to be made */
        enum machine_again
                again; /* AGAIN_RESTART: machine.set_restart, when the registers are put back by silt */
        uint64_t failed_pc;   /* behind the call in which it waits; 0: it runs */
        bool ends_by_handler; /* that call, by any: not only by one without SA_RESTART */
        bool had_frame; /* below its stack there is the frame of a handler that ran before that call */
        uint64_t tried_ns; /* how long others, or it before, stood still and were let go again */
};

/* A thread that sleeps in a system call, seen before it is stopped. */
struct safepoint_wait {
        struct machine_syscall call;
        enum machine_wait kind;
        int timeout_arg;
        uint64_t n_switches, since_ns;
};

/* False: it runs, or nobody knows what it sleeps in. */
bool safepoint_look(const struct target *t, pid_t tid, uint64_t n_switches,
                    struct safepoint_wait *ret);
bool safepoint_has_time(const struct safepoint_wait *w);

/* The second call after it was stopped: a call that ended only for that is made again. True: it is in that sleep still, and m->state, again and
 * failed_pc are what they are to be; when again is AGAIN_LATE it has these registers already. */
bool safepoint_hold(const struct target *t, struct safepoint *m, const struct safepoint_wait *w);

/* Stops one thread. -ETIMEDOUT: no thread came to such a moment in this time; all of them run on. */
int safepoint_find(const struct target *t, const struct code *code, struct stack_walker *walker,
                   uint64_t until_ns, struct safepoint *ret, struct err *reterr);

/* A signal that came while it stood still ends the call it waits in, and has a handler: the call is not to be made again. */
bool safepoint_is_call_over(const struct target *t, const struct safepoint *m);

/* A thread that has made calls for silt, and what it goes back to. */
struct safepoint_return {
        pid_t tid;
        uint64_t sp, failed_pc;    /* behind the call in which it waits; 0: nothing to look after */
        uint64_t room, room_bytes; /* where its stack is until then */
};

/* ends: whatever handler runs ends the call. */
struct safepoint_return safepoint_returns(const struct safepoint *m, bool ends);

/* Once it has gone: a handler that ran on its way back, before the call was made again, ends that call. */
void safepoint_settle(const struct target *t, struct safepoint_return *back);

/* A thread that was stopped for something else, as soon as it was: a call that ended only for that is made again. What is returned, not 0, is for
 * safepoint_let_go, which stops one that was only asked to. */
uint64_t safepoint_repair(const struct target *t, const struct tracee *thread);
void safepoint_let_go(const struct target *t, struct tracee *thread, uint64_t repaired);
