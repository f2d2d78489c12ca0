/* SPDX-License-Identifier: MIT */
#include "attach/frozen_copy.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "attach/kill_point.h"
#include "attach/process_check.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "wire/clock.h"

#define MS UINT64_C(1000000)

enum {
        COPY_TRIES = 20,
        COPY_STOP_MS =
                20, /* those that stand still do not wait longer for one that has no processor */
        COPY_MAX_STOP_MS = 1280,
        COPY_STOPS_MS = 5000,    /* all tries together */
        COPY_SHORT_MS = 2000,    /* for a system call that does not wait */
        COPY_CLONE_MS = 60000,   /* some seconds for a process of a terabyte */
        COPY_COLLECT_MS = 10000, /* for a thread in which the status can be taken */
        COPY_PAUSE_MS = 2,
        COPY_WATCH_MS = 250,       /* to see threads go to sleep whose time-out a stop ends */
        COPY_LONG_WATCH_MS = 1500, /* if there is no other thread */
        COPY_SLEEP_MS = 100, /* for one of the threads to go to sleep, if none can make the call */
        COPY_CANDIDATES = 64,
        COPY_UNSHARE = 2, /* CLOSE_RANGE_UNSHARE */
};

static uint64_t in_ms(uint64_t ms) {
        return clock_now_ns() + ms * MS;
}

/* ---- the copy ----------------------------------------------------------------------------------- */

/* A copy that nobody holds any more makes this one call: it ends. Its frame lies below that of the thread that makes it. */
static int write_end_frame(const struct frozen_copy *c, const struct safepoint *m, uint64_t below,
                           uint64_t *ret_at) {
        const struct machine_call call = {.function = c->code.syscall_at,
                                          .return_to = c->code.return_to};
        uint8_t bytes[4096];
        struct machine_state s = m->state;

        s.n_vector_bytes = 0;
        s.mask = UINT64_MAX;
        machine_own.call_kernel(&s, machine_own.number_exit_group, &call);
        if (machine_own.frame_bytes(&s) > sizeof(bytes))
                return -E2BIG;
        *ret_at = machine_own.frame_align((below - machine_own.frame_bytes(&s)) & -(uint64_t)64);
        machine_own.frame(&s, *ret_at, c->code.return_to, bytes);
        return target_write(c->target, *ret_at, bytes, machine_own.frame_bytes(&s)) ? 0 : -EFAULT;
}

static size_t end_frame_bytes(const struct safepoint *m) {
        struct machine_state s = m->state;

        s.n_vector_bytes = 0;
        return machine_own.frame_bytes(&s) + 128;
}

/* Its own table of descriptors, an empty one, in place of the one it shares: it never had another's file open. */
static int drop_descriptors(struct frozen_copy *c) {
        struct machine_call call = {.function = c->code.syscall_at,
                                    .args = {0, UINT32_MAX, COPY_UNSHARE},
                                    .return_to = c->code.return_to};
        uint64_t regs[MACHINE_MAX_DWARF_REGS];
        struct machine_state s;
        int r = tracee_read_regs(&c->copy, &s);

        if (r < 0)
                return r;
        call.stack = machine_own.sp(&s);
        machine_own.call_kernel(&s, machine_own.number_close_range, &call);
        r = tracee_write_regs(&c->copy, &s);
        for (unsigned i = 0; i < 2 && r == 0; i++) { /* its begin and its end */
                r = tracee_resume(&c->copy, true);
                if (r == 0)
                        r = tracee_wait(&c->copy, in_ms(COPY_SHORT_MS));
                if (r == 0 && c->copy.stop != STOP_SYSCALL)
                        r = -EINTR;
        }
        if (r == 0)
                r = tracee_read_regs(&c->copy, &s);
        if (r == 0) {
                machine_own.dwarf(&s, regs); /* the first of both machines has the result */
                r = (int)regs[0];
        }
        return r;
}

/* From here on it ends with this process. */
static int take_copy(struct frozen_copy *c, pid_t copy) {
        int r;

        c->copy = (struct tracee){.tid = copy};
        r = tracee_wait(&c->copy, in_ms(COPY_SHORT_MS));
        POINT("frozen/unbound");
        if (r == 0)
                r = tracee_bind(&c->copy);
        POINT("frozen/bound");
        return r < 0 ? r : drop_descriptors(c);
}

void frozen_copy_kill(struct frozen_copy *c) {
        if (!c->copy.tid)
                return;
        kill(c->copy.tid, SIGKILL);
        while (waitpid(c->copy.tid, NULL, __WALL) < 0 && errno == EINTR) {}
        c->copy = (struct tracee){0};
}

/* ---- the process --------------------------------------------------------------------------------- */

static int explain(const struct frozen_copy *c, int r, struct err *reterr) {
        const char *name = c->target->name;
        int pid = (int)c->target->pid;

        switch (r) {
        case -EAGAIN:
                return err_set(
                        reterr, r,
                        "process %d (%s): it may not have one more process, which its copy would be: raise its limit (prlimit --nproc, pids.max)",
                        pid, name);
        case -ENOMEM:
                return err_set(
                        reterr, r,
                        "process %d (%s): the kernel has too little memory to copy it: free some",
                        pid, name);
        case -ENOSYS:
                return err_set(reterr, r,
                               "process %d (%s): cannot copy it: copying needs Linux 5.9 or newer",
                               pid, name);
        case -ESRCH:
                return err_set(
                        reterr, r,
                        "process %d (%s) ended while silt copied it: there is nothing to read", pid,
                        name);
        default: return err_set_errno(reterr, r, "process %d (%s): cannot copy it", pid, name);
        }
}

/* A thread whose stack, or a place that nobody uses, takes the frames. */
static int open_caller(struct frozen_copy *c, struct standstill *s, struct safepoint *m,
                       struct caller *ret, uint64_t *ret_below, struct err *reterr) {
        int r = -ENOENT;

        for (unsigned i = 0; i < COPY_CANDIDATES && r < 0; i++) {
                if (!standstill_lend(s, i, m))
                        return r == -ENOENT ? -EBUSY : r;
                r = caller_open(ret, c->target, &c->code, m, end_frame_bytes(m), ret_below, reterr);
        }
        return r;
}

static int take_status(struct frozen_copy *c, struct caller *caller, struct err *reterr) {
        const uint64_t args[6] = {(uint64_t)c->inner_pid, 0, __WALL | WNOHANG};
        int r = caller_syscall(caller, machine_own.number_wait4, args, COPY_SHORT_MS, reterr);

        if (r < 0)
                return r;
        /* a program that waits for all of its children has taken it */
        if (caller->syscall_result != c->inner_pid && caller->syscall_result != -ECHILD)
                return caller->syscall_result < 0 ? (int)caller->syscall_result : -EBUSY;
        c->inner_pid = 0;
        return 0;
}

static int clone_in(struct frozen_copy *c, struct caller *caller, uint64_t below,
                    struct err *reterr) {
        uint64_t args[6] = {CLONE_FILES}; /* no exit signal: no SIGCHLD, and no child to wait for */
        int r = write_end_frame(c, caller->safepoint, below, &args[1]);

        if (r == 0)
                r = tracee_watch_children(&caller->safepoint->thread, true);
        POINT("frozen/frame");
        if (r < 0)
                return explain(c, r, reterr);
        r = caller_syscall(caller, machine_own.number_clone, args, COPY_CLONE_MS, reterr);
        POINT("frozen/cloned");
        if (r == -ETIMEDOUT) /* not to be tried again: that thread may still be at it */
                r = -EIO;
        if (r == 0 && caller->syscall_result < 0)
                return explain(c, (int)caller->syscall_result, reterr);
        if (r == 0) {
                c->inner_pid = (pid_t)caller->syscall_result;
                tracee_watch_children(&caller->safepoint->thread, false);
        }
        if (caller->child) {
                int r_copy = take_copy(c, caller->child);

                if (r == 0 && r_copy < 0)
                        r = explain(c, r_copy, reterr);
        } else if (r == 0)
                r = explain(c, -ECHILD, reterr);
        return r;
}

static void note_moment(struct frozen_copy *c) {
        clock_wait_for_loads();
        c->moment_counter = clock_counter();
        c->moment_ns = clock_now_ns();
}

/* Everybody stands still. 0: copied; 1: somebody did not. */
static int copy_now(struct frozen_copy *c, struct standstill *s,
                    const struct frozen_copy_steps *steps, struct err *reterr) {
        struct safepoint m;
        struct caller caller;
        uint64_t below = 0;
        int r = steps->look(steps->ctx, s);

        if (r < 0)
                return explain(c, r, reterr);
        r = open_caller(c, s, &m, &caller, &below, reterr);
        if (r < 0)
                return r; /* -EBUSY: no thread can make calls now */
        r = clone_in(c, &caller, below, reterr);
        if (r == 0) {
                note_moment(c);
                if (!standstill_holds(s))
                        r = 1;
                else
                        steps->at_moment(steps->ctx, c);
        }
        POINT("frozen/moment");
        if (r != 0) {
                struct err unsaid;

                frozen_copy_kill(c);
                if (c->inner_pid && !caller.is_lost)
                        take_status(c, &caller, &unsaid);
        }
        caller_end(&caller);
        standstill_forget(s, m.thread.tid);
        POINT("frozen/let-go");
        return r;
}

int frozen_copy_make(struct frozen_copy *c, const struct frozen_copy_steps *steps,
                     struct err *reterr) {
        struct standstill_watch watch = {0};
        uint64_t stop_ms = COPY_STOP_MS, stopped_ns = 0;
        int r = 1;

        for (unsigned i = 0; i < COPY_TRIES; i++) {
                struct standstill s;
                uint64_t since_ns, end_ns;

                *reterr = (struct err){0};
                standstill_watch(&watch, c->target,
                                 watch.gives_in ? COPY_LONG_WATCH_MS : COPY_WATCH_MS);
                r = target_refresh(c->target, reterr);
                if (r < 0)
                        break;
                if (watch.gives_in) /* at the last moment: they sleep for a short time */
                        standstill_await_sleep(c->target, COPY_SLEEP_MS);
                r = standstill_begin(&s, c->target, &watch, in_ms(stop_ms));
                POINT("frozen/stopped");
                since_ns = standstill_since_ns(&s);
                if (r == 0)
                        r = copy_now(c, &s, steps, reterr);
                standstill_end(&s, &end_ns);
                if (since_ns) {
                        c->pause_ns = MAX(c->pause_ns, end_ns - since_ns);
                        stopped_ns += end_ns - since_ns;
                }
                watch.gives_in |= r == -EBUSY;
                if ((r <= 0 && r != -ETIMEDOUT && r != -EBUSY) || stopped_ns >= COPY_STOPS_MS * MS)
                        break;
                if (r == -ETIMEDOUT)
                        stop_ms = MIN(stop_ms * 2, (uint64_t)COPY_MAX_STOP_MS);
                tracee_pause(1 + i);
        }
        vec_free(&watch.list);
        if (r < 0 && process_is_over(c->target->pid))
                return explain(c, -ESRCH, reterr);
        if (r == 1 || r == -ETIMEDOUT || r == -EBUSY)
                return err_set(
                        reterr, -ETIMEDOUT,
                        "process %d (%s): its threads could not all be stopped at once: try again",
                        (int)c->target->pid, c->target->name);
        if (r == -EAGAIN && !reterr->code)
                return err_set(reterr, r,
                               "process %d (%s) is stopped: continue it first with kill -CONT %d",
                               (int)c->target->pid, c->target->name, (int)c->target->pid);
        if (r < 0 && !reterr->code)
                return r == -EPERM || r == -ESRCH
                               ? process_explain(c->target->pid, r, reterr)
                               : err_set_errno(reterr, r,
                                               "process %d (%s): cannot stop its threads",
                                               (int)c->target->pid, c->target->name);
        return r;
}

/* ---- its end --------------------------------------------------------------------------------------- */

static int collect_in(struct frozen_copy *c, struct standstill_watch *w, pid_t tid,
                      const struct thread_look *look, struct err *reterr) {
        struct standstill s;
        struct safepoint m;
        struct caller caller;
        uint64_t below, end_ns;
        int r = standstill_one(&s, c->target, w, tid, look, in_ms(COPY_STOP_MS));

        if (r == 0)
                r = standstill_lend(&s, 0, &m) ? 0 : -EBUSY;
        if (r == 0)
                r = caller_open(&caller, c->target, &c->code, &m, 0, &below, reterr);
        if (r == 0) {
                r = take_status(c, &caller, reterr);
                POINT("frozen/collected");
                caller_end(&caller);
                standstill_forget(&s, tid);
        }
        standstill_end(&s, &end_ns);
        return r;
}

static void collect_in_any(struct frozen_copy *c, struct standstill_watch *w, bool is_running) {
        tids threads = {0};

        if (target_threads(c->target, &threads) < 0)
                c->inner_pid = 0; /* nobody is there to take it */
        for (size_t i = 0; i < threads.n && c->inner_pid; i++) {
                struct thread_look look;
                struct err unsaid;

                if (target_look(c->target, threads.items[i], &look) &&
                    look.state == (is_running ? 'R' : 'S'))
                        collect_in(c, w, threads.items[i], &look, &unsaid);
        }
        vec_free(&threads);
}

int frozen_copy_collect(struct frozen_copy *c, struct err *reterr) {
        uint64_t until_ns = in_ms(COPY_COLLECT_MS), give_in_ns = in_ms(COPY_LONG_WATCH_MS);
        struct standstill_watch watch = {0};

        while (c->inner_pid && clock_now_ns() < until_ns && !process_is_over(c->target->pid)) {
                if (target_refresh(c->target, reterr) < 0)
                        break;
                collect_in_any(c, &watch, true);
                if (c->inner_pid)
                        collect_in_any(c, &watch, false);
                watch.gives_in = clock_now_ns() >= give_in_ns;
                if (c->inner_pid)
                        tracee_pause(COPY_PAUSE_MS);
        }
        vec_free(&watch.list);
        if (!c->inner_pid || process_is_over(c->target->pid))
                return 0;
        return err_set(
                reterr, -ETIMEDOUT,
                "process %d (%s): none of its threads took the end of its copy: it stays a zombie until the process ends",
                (int)c->target->pid, c->target->name);
}
