/* SPDX-License-Identifier: MIT */
#include "attach/safepoint.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"

#define MS UINT64_C(1000000)

enum {
        MOMENT_STOP_MS = 200, /* a thread that does not stop in this time is in the kernel */
        MOMENT_DROP_MS =
                600000, /* one that was asked to stop and left alone would stand still when it comes back from the kernel */
        MOMENT_PAUSE_MS = 2, /* between two rounds */
        MOMENT_GIVE_IN_MS =
                1500, /* then a thread is taken of whose time-out nobody knows when it began */
};

/* A thread as it was last seen waiting. */
struct seen {
        pid_t tid;
        uint64_t n_switches, since_ns;
        bool began_here; /* its waiting began while silt looked */
};

struct search {
        const struct target *target;
        const struct code *code;
        struct stack_walker *walker;
        VEC(struct seen) seen;
        uint64_t begin_ns;
        bool is_in_call;     /* the thread at hand was stopped in a system call that waits */
        bool is_for_no_lock; /* and that call is none by which threads wait for each other */
        unsigned n_looked, n_unwound; /* threads whose stack was walked; to its end */
        bool is_doubted; /* one of them was refused only because nobody knows where its allocator is */
};

/* A handler has run here and come back. Its frame is still below the stack pointer. */
static bool has_frame(const struct target *t, uint64_t sp, uint64_t pc) {
        enum { N_BYTES = 16384 };
        uint64_t words[N_BYTES / sizeof(uint64_t)];
        size_t n = N_BYTES;

        while (n && !target_read(t, sp - n, words, n))
                n /= 2;
        for (size_t i = 0; i + 1 < n / sizeof(words[0]); i++)
                if (words[i] == sp && words[i + 1] == pc)
                        return true;
        return false;
}

static struct seen *seen_of(struct search *f, pid_t tid, uint64_t n_switches) {
        uint64_t now_ns = clock_now_ns();
        struct seen *s = NULL;

        for (size_t i = 0; i < f->seen.n; i++)
                if (f->seen.items[i].tid == tid)
                        s = &f->seen.items[i];
        if (!s) {
                vec_push(&f->seen, (struct seen){tid, n_switches, now_ns, false});
                return &f->seen.items[f->seen.n - 1];
        }
        if (s->n_switches != n_switches)
                *s = (struct seen){tid, n_switches, now_ns, true};
        return s;
}

static bool on_frame(void *ctx, uint64_t addr, bool is_innermost, bool is_interrupted) {
        struct search *f = ctx;

        switch (code_at(f->code, addr)) {
        case CODE_UNTOUCHED: return false;
        case CODE_DOUBTFUL:
                f->is_doubted |= !f->is_for_no_lock;
                return !is_interrupted && f->is_for_no_lock;
        case CODE_LIBC: return !is_interrupted && (!is_innermost || f->is_in_call);
        case CODE_OWN: break;
        }
        return !is_interrupted;
}

/* Of those that wait for it to go on. */
static bool has_signal(const struct target *t, pid_t tid, uint64_t mask) {
        struct thread_look look;

        return !target_look(t, tid, &look) || (look.pending & ~mask);
}

static bool has_caught_signal(const struct target *t, pid_t tid, uint64_t mask) {
        struct thread_look look;

        return target_look(t, tid, &look) && (look.pending & ~mask & look.caught);
}

bool safepoint_is_call_over(const struct target *t, const struct safepoint *m) {
        return m->failed_pc && m->ends_by_handler &&
               has_caught_signal(t, m->thread.tid, m->state.mask);
}

/* It was stopped in the sleep it was seen in, which is the last but one: it sleeps again, being stopped. And no signal waits for it. */
static bool is_same_sleep(const struct target *t, const struct safepoint *m,
                          const struct safepoint_wait *w) {
        struct thread_look look;

        return target_look(t, m->thread.tid, &look) && !(look.pending & ~m->state.mask) &&
               look.n_switches == w->n_switches + 1;
}

static void set_time_left(struct safepoint *m, const struct safepoint_wait *w) {
        uint64_t passed_ms = (clock_now_ns() - w->since_ns) / MS, left_ms;

        if (m->again != AGAIN_LATE || w->timeout_arg < 0 ||
            (int32_t)w->call.args[w->timeout_arg] <= 0)
                return;
        left_ms = w->call.args[w->timeout_arg];
        machine_own.set_arg(&m->state, (unsigned)w->timeout_arg,
                            left_ms > passed_ms ? left_ms - passed_ms : 0);
}

/* Before anything else is looked at: a silt that dies from here on leaves a call that is made again. */
bool safepoint_hold(const struct target *t, struct safepoint *m, const struct safepoint_wait *w) {
        const struct machine_syscall *call = &w->call;
        uint8_t before[MACHINE_MAX_REGS_BYTES];

        if (tracee_read_regs(&m->thread, &m->state) < 0)
                return false;
        memcpy(before, m->state.regs, sizeof(before));
        if (!machine_own.again(&m->state, call, w->kind, &m->again))
                return false;
        set_time_left(m, w);
        if (m->again == AGAIN_LATE && tracee_write_regs(&m->thread, &m->state) < 0)
                return false;
        m->failed_pc = call->pc;
        m->had_frame = has_frame(t, call->sp, call->pc - machine_own.syscall_bytes);
        m->ends_by_handler = m->again == AGAIN_LATE || machine_own.ends_by_handler(call);
        if (tracee_read_rest(&m->thread, &m->state) == 0 && is_same_sleep(t, m, w))
                return true;
        /* an error that a signal's handler is about to be the reason for is the program's */
        if (m->again == AGAIN_LATE) {
                memcpy(m->state.regs, before, sizeof(before));
                tracee_write_regs(&m->thread, &m->state);
        }
        m->again = AGAIN_NONE;
        return false;
}

/* The thread stands still. True: its moment is taken. */
static bool take(struct search *f, struct safepoint *m, const struct safepoint_wait *w) {
        bool is_waiting = w->call.is_known && w->kind != WAIT_OTHER;
        enum code_kind here;

        f->is_in_call = is_waiting;
        f->is_for_no_lock = is_waiting && w->call.number != machine_own.number_futex &&
                            w->call.number != machine_own.number_futex_waitv &&
                            w->call.number != machine_own.number_restart;
        m->again = AGAIN_NONE;
        m->failed_pc = 0;
        m->ends_by_handler = false;
        if (m->thread.stop != STOP_TRAP)
                return false;
        if (is_waiting ? !safepoint_hold(f->target, m, w) : tracee_read(&m->thread, &m->state) < 0)
                return false;
        here = is_waiting ? CODE_OWN : code_at(f->code, machine_own.pc(&m->state));
        f->is_doubted |= here == CODE_DOUBTFUL;
        if (tracee_has_more(&m->thread) || here != CODE_OWN)
                return false;
        f->n_looked++;
        return stack_walk(f->walker, m->thread.tid, &m->state, on_frame, f);
}

/* Lets it go as it was, or as it would be without the stop. */
static void give_back(const struct target *t, struct safepoint *m) {
        if (m->again == AGAIN_LATE && m->thread.is_stopped && m->thread.stop == STOP_TRAP &&
            safepoint_is_call_over(t, m)) {
                machine_own.set_failed(&m->state, m->failed_pc);
                tracee_write_regs(&m->thread, &m->state);
        }
        tracee_drop(&m->thread);
}

bool safepoint_has_time(const struct safepoint_wait *w) {
        return w->timeout_arg == TIMEOUT_HIDDEN ||
               (w->timeout_arg >= 0 && (int32_t)w->call.args[w->timeout_arg] > 0);
}

bool safepoint_look(const struct target *t, pid_t tid, uint64_t n_switches,
                    struct safepoint_wait *ret) {
        *ret = (struct safepoint_wait){.timeout_arg = TIMEOUT_NONE,
                                       .n_switches = n_switches,
                                       .since_ns = clock_now_ns()};
        target_syscall(t, tid, &ret->call);
        if (!ret->call.is_known)
                return false;
        ret->kind = machine_own.wait(&ret->call, &ret->timeout_arg);
        return true;
}

/* 1: taken, 0: not now, -errno: it cannot be traced. */
static int try_thread(struct search *f, pid_t tid, bool is_running, struct safepoint *m) {
        struct safepoint_wait wait = {0};
        struct thread_look look;
        int r;

        if (!is_running) {
                const struct seen *seen;

                /* the sleep is the one of the call, or a later one, which has another number */
                if (!safepoint_look(f->target, tid, 0, &wait) ||
                    !target_look(f->target, tid, &look) || look.state != 'S')
                        return 0;
                if (wait.kind == WAIT_OTHER || code_at(f->code, wait.call.pc) == CODE_UNTOUCHED)
                        return 0;
                seen = seen_of(f, tid, look.n_switches);
                if (wait.kind == WAIT_INTERRUPTED && safepoint_has_time(&wait) &&
                    !seen->began_here && clock_now_ns() - f->begin_ns < MOMENT_GIVE_IN_MS * MS)
                        return 0;
                wait.n_switches = seen->n_switches;
                wait.since_ns = seen->since_ns;
        }
        r = tracee_seize(&m->thread, tid);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        r = tracee_halt(&m->thread, clock_now_ns() + MOMENT_STOP_MS * MS);
        if (r == -ESRCH)
                return 0;
        if (r < 0) {
                safepoint_let_go(f->target, &m->thread, 0);
                return 0;
        }
        if (take(f, m, &wait))
                return 1;
        if (!is_running)
                give_back(f->target, m);
        else
                safepoint_let_go(f->target, &m->thread, safepoint_repair(f->target, &m->thread));
        m->tried_ns += clock_now_ns() - m->thread.ran_ns;
        return 0;
}

static int try_all(struct search *f, const tids *threads, bool is_running, struct safepoint *m) {
        for (size_t i = 0; i < threads->n; i++) {
                struct thread_look look;
                int r;

                if (!target_look(f->target, threads->items[i], &look) ||
                    (look.state == 'R') != is_running || (!is_running && look.state != 'S'))
                        continue;
                r = try_thread(f, threads->items[i], is_running, m);
                if (r)
                        return r;
        }
        return 0;
}

static bool is_any_alive(const struct target *t, const tids *threads) {
        struct thread_look look;

        for (size_t i = 0; i < threads->n; i++)
                if (target_look(t, threads->items[i], &look) && look.state != 'Z' &&
                    look.state != 'X')
                        return true;
        return false;
}

int safepoint_find(const struct target *t, const struct code *code, struct stack_walker *walker,
                   uint64_t until_ns, struct safepoint *ret, struct err *reterr) {
        struct search f = {.target = t, .code = code, .walker = walker, .begin_ns = clock_now_ns()};
        tids threads = {0};
        int r = 0;

        ret->tried_ns = 0;
        while (r == 0) {
                r = target_threads(t, &threads);
                if (r == 0 && !is_any_alive(t, &threads))
                        r = -ESRCH;
                if (r < 0)
                        break;
                r = try_all(&f, &threads, true, ret);
                if (r == 0)
                        r = try_all(&f, &threads, false, ret);
                if (r == 0 && clock_now_ns() >= until_ns)
                        r = -ETIMEDOUT;
                if (r == 0)
                        tracee_pause(MOMENT_PAUSE_MS);
        }
        vec_free(&f.seen);
        vec_free(&threads);
        if (r == -ETIMEDOUT && f.is_doubted)
                return err_set(
                        reterr, r,
                        "process %d: its allocator has no symbols, and no thread was seen to wait: silt cannot tell when to enter: use a build with symbols, or try again later",
                        (int)t->pid);
        if (r == -ETIMEDOUT)
                return err_set(
                        reterr, r,
                        "process %d: none of its threads reached a point where silt can enter: try again later",
                        (int)t->pid);
        if (r < 0)
                return err_set_errno(reterr, r, "process %d: cannot stop its threads", (int)t->pid);
        return 0;
}

/* ---- threads that ran when they were stopped ------------------------------------------------------------- */

/* Whether a process of this set of semaphores' space sees it; of another's nobody can tell. */
static bool is_semaphores(const struct target *t, uint64_t id) {
        char path[64], own[64] = "", its[64] = "";

        snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)t->pid);
        if (readlink("/proc/self/ns/ipc", own, sizeof(own) - 1) < 0 ||
            readlink(path, its, sizeof(its) - 1) < 0 || strcmp(own, its) != 0)
                return true;
        return semctl((int)id, 0, GETNCNT) >= 0 || (errno != EINVAL && errno != EIDRM);
}

/* What the call was made with must be what it takes: a handler that ran elsewhere than on this stack, and has returned, leaves anything there. */
static bool is_first_argument(const struct target *t, enum machine_first first, uint64_t value) {
        static const char *const kinds[] = {[FIRST_SOCKET] = "socket:",
                                            [FIRST_EPOLL] = "anon_inode:[eventpoll]",
                                            [FIRST_RING] = "anon_inode:[io_uring]"};
        char path[64], link[64] = "";
        uint64_t word;

        switch (first) {
        case FIRST_SOCKET:
        case FIRST_EPOLL:
        case FIRST_RING:
                snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)t->pid, (int)value);
                return readlink(path, link, sizeof(link) - 1) > 0 &&
                       strncmp(link, kinds[first], strlen(kinds[first])) == 0;
        case FIRST_ADDRESS: return target_read(t, value, &word, sizeof(word));
        case FIRST_SEMAPHORES: return is_semaphores(t, value);
        case FIRST_ANY: return true;
        case FIRST_NONE: break;
        }
        return false;
}

/* aarch64 shows it no more: its register has the result. The kernel has it still, and tells it of a thread that is in a system call. */
static bool recall_first(const struct target *t, const struct tracee *thread,
                         struct machine_syscall *call) {
        struct machine_syscall shown = {0};

        if (!tracee_name_syscall(thread, call->number))
                return false;
        target_syscall(t, thread->tid, &shown);
        tracee_name_syscall(thread, -1);
        call->args[0] = shown.args[0];
        return shown.is_known && shown.number == call->number && shown.sp == call->sp &&
               shown.pc == call->pc &&
               memcmp(&shown.args[1], &call->args[1], 5 * sizeof(call->args[0])) == 0;
}

/* It went to sleep at the very moment of the stop. */
uint64_t safepoint_repair(const struct target *t, const struct tracee *thread) {
        struct machine_syscall call = {0};
        struct machine_state s;
        enum machine_first first;
        enum machine_again again;
        uint8_t code[8];
        size_t n = machine_own.syscall_bytes;

        if (thread->stop != STOP_TRAP || tracee_read_regs(thread, &s) < 0)
                return 0;
        first = machine_own.failed_wait(&s, &call);
        if (first == FIRST_NONE || tracee_read_rest(thread, &s) < 0 ||
            has_signal(t, thread->tid, s.mask) || !target_read(t, call.pc - n, code, n) ||
            memcmp(code, machine_own.return_code + machine_own.return_code_bytes - n, n) != 0)
                return 0;
        /* then that the call ended was the signal's doing */
        if (has_frame(t, call.sp, call.pc) ||
            (call.args[0] == UINT64_MAX && !recall_first(t, thread, &call)) ||
            !is_first_argument(t, first, call.args[0]))
                return 0;
        return machine_own.again(&s, &call, WAIT_INTERRUPTED, &again) &&
                               tracee_write_regs(thread, &s) == 0
                       ? call.pc
                       : 0;
}

void safepoint_let_go(const struct target *t, struct tracee *thread, uint64_t repaired) {
        struct machine_state s;

        if (!thread->is_stopped) {
                if (tracee_halt(thread, clock_now_ns() + MOMENT_DROP_MS * MS) < 0)
                        return;
                repaired = safepoint_repair(t, thread);
        }
        if (repaired && tracee_read(thread, &s) == 0 && has_caught_signal(t, thread->tid, s.mask)) {
                machine_own.set_failed(&s, repaired);
                tracee_write_regs(thread, &s);
        }
        tracee_let_go(thread);
}

/* ---- threads that have made calls --------------------------------------------------------------------- */

struct safepoint_return safepoint_returns(const struct safepoint *m, bool ends) {
        if (!m->failed_pc || m->had_frame || !(ends || m->ends_by_handler))
                return (struct safepoint_return){0};
        return (struct safepoint_return){.tid = m->thread.tid,
                                         .sp = machine_own.sp(&m->state),
                                         .failed_pc = m->failed_pc};
}

/* It waits in its call; or it does something else by now. */
static bool is_back(const struct target *t, const struct safepoint_return *back,
                    struct machine_syscall *ret) {
        uint64_t until_ns = clock_now_ns() + MOMENT_STOP_MS * MS;
        struct thread_look look;

        for (;;) {
                target_syscall(t, back->tid, ret);
                if (!target_look(t, back->tid, &look))
                        return false;
                if (ret->is_known && ret->sp - back->room >= back->room_bytes)
                        return ret->pc == back->failed_pc && ret->sp == back->sp &&
                               look.state == 'S';
                if (clock_now_ns() >= until_ns)
                        return false;
                tracee_pause(1);
        }
}

void safepoint_settle(const struct target *t, struct safepoint_return *back) {
        struct safepoint_return r = *back;
        struct machine_syscall call;
        struct machine_state s;
        enum machine_again again;
        struct tracee thread;

        *back = (struct safepoint_return){0};
        if (!r.failed_pc || !is_back(t, &r, &call) ||
            !has_frame(t, r.sp, r.failed_pc - machine_own.syscall_bytes) ||
            tracee_seize(&thread, r.tid) < 0)
                return;
        /* one that reports EINTR when it is stopped is all right already */
        if (tracee_halt(&thread, clock_now_ns() + MOMENT_STOP_MS * MS) == 0 &&
            thread.stop == STOP_TRAP && tracee_read_regs(&thread, &s) == 0 &&
            machine_own.again(&s, &call, WAIT_PLAIN, &again)) {
                machine_own.set_failed(&s, r.failed_pc);
                tracee_write_regs(&thread, &s);
        }
        if (thread.stop != STOP_GONE)
                tracee_drop(&thread);
}
