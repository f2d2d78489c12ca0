/* SPDX-License-Identifier: MIT */
#include "attach/tracee.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/macros.h"
#include "base/system_clock.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif
#ifndef NT_ARM_SVE
#define NT_ARM_SVE 0x405
#endif

enum { SVE_FLAGS_OFF = 12, SVE_FLAG_SVE = 1, DROP_PATIENCE_MS = 2000 };

void tracee_begin(void) {
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
}

void tracee_pause_us(unsigned us) {
        struct timespec t = {0, (long)us * 1000};
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigtimedwait(&child, NULL, &t);
}

void tracee_pause(unsigned ms) {
        tracee_pause_us(ms * 1000);
}

int tracee_seize(struct tracee *t, pid_t tid) {
        *t = (struct tracee){.tid = tid, .ran_ns = clock_now_ns()};
        return ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) < 0 ? -errno : 0;
}

int tracee_interrupt(const struct tracee *t) {
        return ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0 ? -errno : 0;
}

int tracee_resume(struct tracee *t, bool to_syscall) {
        int signal = t->signal;

        if (!t->is_stopped)
                return 0;
        t->is_stopped = false;
        t->signal = 0;
        if (t->stop == STOP_GROUP && !to_syscall)
                return ptrace(PTRACE_LISTEN, t->tid, NULL, NULL) < 0 ? -errno : 0;
        return ptrace(to_syscall ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, NULL,
                      (void *)(intptr_t)signal) < 0
                       ? -errno
                       : 0;
}

void tracee_let_go(struct tracee *t) {
        ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal);
        t->is_stopped = false;
        t->signal = 0;
}

static void tracee_take(struct tracee *t, int status) {
        int signal = WSTOPSIG(status), event = status >> 16;

        t->signal = 0;
        if (!WIFSTOPPED(status)) {
                t->stop = STOP_GONE;
                return;
        }
        t->is_stopped = true;
        if (event == PTRACE_EVENT_STOP)
                t->stop = signal == SIGTRAP ? STOP_TRAP : STOP_GROUP;
        else if (event)
                t->stop = STOP_CHILD;
        else if (signal == (SIGTRAP | 0x80))
                t->stop = STOP_SYSCALL;
        else {
                t->stop = STOP_SIGNAL;
                t->signal = signal;
        }
}

int tracee_wait(struct tracee *t, uint64_t until_ns) {
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        for (;;) {
                uint64_t now_ns = clock_now_ns();
                struct timespec left = {0};
                int status;
                pid_t r = waitpid(t->tid, &status, __WALL | WNOHANG);

                if (r == t->tid) {
                        tracee_take(t, status);
                        return t->stop == STOP_GONE ? -ESRCH : 0;
                }
                if (r < 0 && errno != EINTR) {
                        t->stop = STOP_GONE;
                        return -ESRCH;
                }
                t->ran_ns = now_ns;
                if (now_ns >= until_ns)
                        return -ETIMEDOUT;
                /* SIGCHLD of several threads may be one */
                left.tv_nsec = (long)MIN(until_ns - now_ns, 2000000u);
                sigtimedwait(&child, NULL, &left);
        }
}

int tracee_halt(struct tracee *t, uint64_t until_ns) {
        int r;

        if (t->is_stopped && (t->stop == STOP_TRAP || t->stop == STOP_GROUP))
                return 0;
        r = tracee_interrupt(t);
        if (r < 0)
                return r;
        for (;;) {
                if (t->is_stopped)
                        tracee_resume(t, false);
                r = tracee_wait(t, until_ns);
                if (r < 0)
                        return r;
                if (t->stop == STOP_TRAP || t->stop == STOP_GROUP)
                        return 0;
        }
}

void tracee_drop(struct tracee *t) {
        if (t->is_stopped || tracee_halt(t, clock_now_ns() + DROP_PATIENCE_MS * 1000000u) == 0)
                tracee_let_go(t);
}

bool tracee_find_late(struct tracee *ret) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

        if (tid <= 0)
                return false;
        *ret = (struct tracee){.tid = tid};
        tracee_take(ret, status);
        return true;
}

int tracee_watch_children(const struct tracee *t, bool is_watched) {
        long options = PTRACE_O_TRACESYSGOOD;

        if (is_watched)
                options |= PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
        return ptrace(PTRACE_SETOPTIONS, t->tid, NULL, (void *)options) < 0 ? -errno : 0;
}

pid_t tracee_child(const struct tracee *t) {
        unsigned long child = 0;

        return ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &child) < 0 ? 0 : (pid_t)child;
}

int tracee_bind(const struct tracee *t) {
        const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;

        return ptrace(PTRACE_SETOPTIONS, t->tid, NULL, (void *)options) < 0 ? -errno : 0;
}

void tracee_hurry(pid_t tid) {
        const struct sched_param param = {.sched_priority = 1};

        sched_setscheduler(tid, SCHED_RR, &param);
}

uint64_t tracee_rseq(const struct tracee *t) {
        struct {
                uint64_t addr;
                uint32_t n_bytes, signature, flags, pad;
        } c = {0};

        return ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, (void *)sizeof(c), &c) < 0 ? 0
                                                                                        : c.addr;
}

static int get_set(pid_t tid, unsigned set, void *ret, size_t cap, size_t *ret_n) {
        struct iovec iov = {ret, cap};

        if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)set, &iov) < 0)
                return -errno;
        *ret_n = iov.iov_len;
        return 0;
}

static int put_set(pid_t tid, unsigned set, const void *bytes, size_t n) {
        struct iovec iov = {(void *)bytes, n};

        return ptrace(PTRACE_SETREGSET, tid, (void *)(uintptr_t)set, &iov) < 0 ? -errno : 0;
}

int tracee_read_regs(const struct tracee *t, struct machine_state *ret) {
        int r = get_set(t->tid, NT_PRSTATUS, ret->regs, sizeof(ret->regs), &ret->n_regs_bytes);

        if (r < 0)
                return r;
        return ret->n_regs_bytes == machine_own.n_regs_bytes ? 0 : -ENOEXEC; /* 32-bit */
}

int tracee_read(const struct tracee *t, struct machine_state *ret) {
        int r = tracee_read_regs(t, ret);

        return r < 0 ? r : tracee_read_rest(t, ret);
}

int tracee_read_rest(const struct tracee *t, struct machine_state *ret) {
        int r = get_set(t->tid, machine_own.vector_set, ret->vectors, sizeof(ret->vectors),
                        &ret->n_vector_bytes);
        if (r < 0)
                return r;
        if (ret->n_vector_bytes == sizeof(ret->vectors))
                return -E2BIG; /* there may be more */
        return ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(ret->mask), &ret->mask) < 0 ? -errno
                                                                                            : 0;
}

int tracee_write_regs(const struct tracee *t, const struct machine_state *s) {
        return put_set(t->tid, NT_PRSTATUS, s->regs, s->n_regs_bytes);
}

int tracee_write_vectors(const struct tracee *t, const struct machine_state *s) {
        return put_set(t->tid, machine_own.vector_set, s->vectors, s->n_vector_bytes);
}

int tracee_write_mask(const struct tracee *t, uint64_t mask) {
        return ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask) < 0 ? -errno : 0;
}

/* First where to go on, then that nothing is called: a thread that is left in between makes its rt_sigreturn. */
int tracee_skip_syscall(const struct tracee *t, struct machine_state *s, uint64_t pc) {
        int r;

        machine_own.set_pc(s, pc);
        r = tracee_write_regs(t, s);
#if defined(__aarch64__)
        if (r == 0) {
                const int none = -1;

                r = put_set(t->tid, NT_ARM_SYSTEM_CALL, &none, sizeof(none));
        }
#endif
        return r;
}

bool tracee_name_syscall(const struct tracee *t, int64_t number) {
#if defined(__aarch64__)
        const int as_int = (int)number;

        return put_set(t->tid, NT_ARM_SYSTEM_CALL, &as_int, sizeof(as_int)) == 0;
#else
        (void)t, (void)number;
        return false;
#endif
}

bool tracee_has_more(const struct tracee *t) {
#if defined(__aarch64__)
        _Alignas(8) uint8_t head[16];
        uint16_t flags;
        size_t n = 0;

        if (get_set(t->tid, NT_ARM_SVE, head, sizeof(head), &n) < 0 || n < sizeof(head))
                return false;
        memcpy(&flags, head + SVE_FLAGS_OFF, sizeof(flags));
        return flags & SVE_FLAG_SVE;
#else
        (void)t;
        return false;
#endif
}
