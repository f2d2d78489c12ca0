/* SPDX-License-Identifier: MIT */
/* silt's side, and the keeper: a process of silt's own, away from its terminal and group, that traces. It holds the copy until nobody holds the other end
 * of its socket. */
#include "attach/frozen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/caller.h"
#include "attach/frozen_copy.h"
#include "attach/process_check.h"
#include "attach/safepoint.h"
#include "attach/stopper.h"
#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"

enum {
        FROZEN_MAX_THREADS = 65536,
        FROZEN_MOMENT_MS = 100, /* for silt, while all threads stand still */
        FROZEN_END_MS = 15000,  /* for the keeper to end */
        KEEPER_LOOK_MS = 10,    /* between two looks for threads that stop late */
};

enum frozen_kind { FROZEN_MOMENT, FROZEN_MADE, FROZEN_FAILED, FROZEN_ENDED };

/* Shared by both; the keeper writes, then says so by a byte, which is one of frozen_kind. */
struct report {
        struct err err;
        int result;
        pid_t copy, inner_pid;
        uint64_t moment_ns, moment_counter, pause_ns;
        size_t n_threads;
        struct frozen_thread threads[FROZEN_MAX_THREADS];
};

struct keeper {
        struct frozen_copy copy;
        struct report *report;
        int fd;
        bool has_moment; /* silt is to be asked at the moment */
};

/* ---- the keeper ----------------------------------------------------------------------------------- */

static bool tell(const struct keeper *k, enum frozen_kind kind) {
        const uint8_t byte = (uint8_t)kind;

        return send(k->fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

static void note_thread(struct frozen_thread *ret, const struct standstill_thread *one) {
        const struct machine_syscall *call = &one->wait.call;
        struct machine_state s;

        *ret = (struct frozen_thread){.tid = one->thread.tid};
        if (one->is_left || tracee_read_regs(&one->thread, &s) < 0) {
                ret->is_partial = true;
                ret->sp = call->sp;
                ret->pc = call->pc;
                ret->n_regs = ARRAY_SIZE(call->args);
                memcpy(ret->regs, call->args, sizeof(call->args));
                return;
        }
        ret->sp = machine_own.sp(&s);
        ret->pc = machine_own.pc(&s);
        ret->n_regs = machine_own.dwarf(&s, ret->regs);
}

static int note_threads(void *ctx, const struct standstill *s) {
        const struct keeper *k = ctx;
        size_t n = 0;

        for (size_t i = 0; i < s->list.n; i++) {
                const struct standstill_thread *one = &s->list.items[i];

                if (!one->is_left && one->thread.stop == STOP_GONE)
                        continue;
                if (n == FROZEN_MAX_THREADS)
                        return -E2BIG;
                note_thread(&k->report->threads[n++], one);
        }
        k->report->n_threads = n;
        return 0;
}

static void pass_moment(void *ctx, const struct frozen_copy *c) {
        const struct keeper *k = ctx;
        struct pollfd p = {.fd = k->fd, .events = POLLIN};
        uint8_t byte;

        k->report->copy = c->copy.tid;
        k->report->inner_pid = c->inner_pid;
        k->report->moment_ns = c->moment_ns;
        k->report->moment_counter = c->moment_counter;
        if (k->has_moment && tell(k, FROZEN_MOMENT) && poll(&p, 1, FROZEN_MOMENT_MS) == 1)
                (void)!recv(k->fd, &byte, 1, MSG_DONTWAIT);
}

static void name_threads(const struct keeper *k) {
        for (size_t i = 0; i < k->report->n_threads; i++) {
                struct frozen_thread *one = &k->report->threads[i];
                char path[80], text[64];

                snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)k->copy.target->pid,
                         (int)one->tid);
                if (fs_read_text(path, text, sizeof(text)) <= 0)
                        continue;
                text[strcspn(text, "\n")] = '\0';
                snprintf(one->name, sizeof(one->name), "%.15s", text);
        }
}

/* Should memory become scarce, it is the copy that goes. */
static void offer_to_oom(pid_t copy) {
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)copy);
        fd = fs_open(path, O_WRONLY, 0);
        if (fd < 0)
                return;
        (void)!fs_write_all(fd, "1000", 4);
        close(fd);
}

/* Where the machine is busy or memory is scarce, a thread may stop after it was waited for, and one may be killed as it is let go: the first would stand
 * still as long as the copy is there, and the process of the second would not end. */
static void let_late_go(struct keeper *k) {
        struct tracee late;

        while (tracee_find_late(&late))
                if (late.stop == STOP_GONE && late.tid == k->copy.copy.tid)
                        k->copy.copy = (struct tracee){0}; /* its number is free now */
                else if (late.stop != STOP_GONE && late.tid != k->copy.copy.tid)
                        safepoint_let_go(k->copy.target, &late,
                                         late.stop == STOP_TRAP
                                                 ? safepoint_repair(k->copy.target, &late)
                                                 : 0);
}

/* Until silt ends it, or is gone. The process may end meanwhile: its copy is what it was. */
static void keep(struct keeper *k) {
        struct pollfd p = {.fd = k->fd, .events = POLLIN};
        uint8_t byte;
        int n;

        do {
                let_late_go(k);
                n = poll(&p, 1, KEEPER_LOOK_MS);
        } while (n == 0 || (n < 0 && errno == EINTR) || recv(k->fd, &byte, 1, MSG_DONTWAIT) == 1);
}

/* While threads stand still, before others, where it may. */
static void hurry(bool is_hurry) {
        const struct sched_param param = {0};

        if (is_hurry)
                tracee_hurry(0);
        else
                sched_setscheduler(0, SCHED_OTHER, &param);
}

/* What silt has open is not kept open by who may outlive it. */
static void stand_apart(const struct keeper *k) {
        const unsigned kept[] = {(unsigned)MIN(k->fd, k->copy.target->mem_fd),
                                 (unsigned)MAX(k->fd, k->copy.target->mem_fd)};
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        setsid();
        for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
                if (fd != k->fd && fd != k->copy.target->mem_fd)
                        dup2(null_fd, fd);
        if (kept[0] > 3)
                syscall(SYS_close_range, 3u, kept[0] - 1, 0u);
        if (kept[1] > kept[0] + 1)
                syscall(SYS_close_range, kept[0] + 1, kept[1] - 1, 0u);
        syscall(SYS_close_range, kept[1] + 1, UINT32_MAX, 0u);
}

static void end_copy(struct keeper *k) {
        hurry(true);
        frozen_copy_kill(&k->copy);
        k->report->err = (struct err){0};
        k->report->result = frozen_copy_collect(&k->copy, &k->report->err);
        hurry(false);
        tell(k, FROZEN_ENDED);
}

static void be_keeper(struct keeper *k) {
        const struct frozen_copy_steps steps = {note_threads, pass_moment, k};
        int r;

        stand_apart(k);
        tracee_begin();
        if (!k->copy.inner_pid) {
                hurry(true);
                r = frozen_copy_make(&k->copy, &steps, &k->report->err);
                hurry(false);
                k->report->result = r;
                k->report->pause_ns = k->copy.pause_ns;
                if (r < 0) {
                        tell(k, FROZEN_FAILED);
                        _exit(1);
                }
                offer_to_oom(k->copy.copy.tid);
                name_threads(k);
                tell(k, FROZEN_MADE);
                keep(k);
        }
        end_copy(k);
        _exit(0);
}

/* ---- silt ---------------------------------------------------------------------------------------- */

/* k has a target and a report. The keeper runs; k->fd is silt's end of their socket. */
static int start_keeper(struct keeper *k, pid_t *ret_pid) {
        pid_t silt = getpid(), pid;
        int pair[2], error;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        pid = fork();
        error = errno;
        if (pid == 0) {
                stopper_of = silt;
                close(pair[0]);
                k->fd = pair[1];
                be_keeper(k);
        }
        close(pair[1]);
        k->fd = pair[0];
        if (pid < 0)
                close(TAKE_FD(k->fd));
        *ret_pid = pid;
        return pid < 0 ? -error : 0;
}

/* What it says next; -EINTR: it was killed; -ETIMEDOUT. timeout_ms < 0: it has bounds of its own. */
static int hear(int fd, int timeout_ms) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint8_t byte;
        int n;

        while ((n = poll(&p, 1, timeout_ms)) < 0 && errno == EINTR) {}
        if (n == 0)
                return -ETIMEDOUT;
        return recv(fd, &byte, 1, 0) == 1 ? byte : -EINTR;
}

static void take_report(struct frozen *f, const struct report *report) {
        f->copy = report->copy;
        f->inner_pid = report->inner_pid;
        f->moment_ns = report->moment_ns;
        f->moment_counter = report->moment_counter;
        vec_clear(&f->threads);
        vec_reserve(&f->threads, report->n_threads);
        memcpy(f->threads.items, report->threads, report->n_threads * sizeof(report->threads[0]));
        f->threads.n = report->n_threads;
}

static int hear_all(struct frozen *f, const struct keeper *k, frozen_moment *at_moment, void *ctx,
                    struct err *reterr) {
        int kind;

        while ((kind = hear(k->fd, -1)) == FROZEN_MOMENT) {
                const uint8_t byte = 0;

                take_report(f, k->report);
                at_moment(ctx, f);
                f->is_moment_missed = clock_now_ns() - k->report->moment_ns >
                                      FROZEN_MOMENT_MS * UINT64_C(1000000);
                (void)!send(k->fd, &byte, 1, MSG_NOSIGNAL);
        }
        if (kind < 0)
                return err_set(
                        reterr, kind,
                        "process %d (%s): silt's helper that copies it was killed: try again",
                        (int)f->pid, k->copy.target->name);
        if (kind != FROZEN_MADE) {
                *reterr = k->report->err;
                return k->report->result;
        }
        take_report(f, k->report);
        f->pause_ns = k->report->pause_ns;
        return 0;
}

static int open_copy(struct frozen *f, struct err *reterr) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)f->copy);
        f->mem_fd = fs_open(path, O_RDONLY, 0);
        return f->mem_fd < 0 ? err_set_errno(reterr, f->mem_fd,
                                             "process %d: cannot read the memory of its copy",
                                             (int)f->pid)
                             : 0;
}

static int map_report(struct report **ret) {
        *ret = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return *ret == MAP_FAILED ? -ENOMEM : 0;
}

/* Has the keeper end, and waits for it. */
static int dismiss(struct frozen *f) {
        int kind = FROZEN_MADE;

        if (f->keeper <= 0)
                return 0;
        shutdown(f->keeper_fd, SHUT_WR);
        while (kind >= 0 && kind != FROZEN_ENDED)
                kind = hear(f->keeper_fd, FROZEN_END_MS);
        close(TAKE_FD(f->keeper_fd));
        if (kind != -ETIMEDOUT)
                while (waitpid(f->keeper, NULL, 0) < 0 && errno == EINTR) {}
        f->keeper = 0;
        return kind == FROZEN_ENDED ? 0 : kind;
}

static int open_target(struct target *t, struct frozen_copy *c, pid_t pid, struct err *reterr) {
        int r = target_open(t, pid, reterr);

        if (r < 0)
                return process_explain(pid, r, reterr);
        c->target = t;
        if (!caller_find_code(t, &c->code))
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s): its code for system calls was not found: link it dynamically against glibc",
                        (int)pid, t->name);
        return 0;
}

/* With what the keeper has to know of the process; and what it has said last. */
static int with_keeper(struct frozen *f, struct keeper *k, struct target *t, struct err *reterr) {
        int r = open_target(t, &k->copy, f->pid, reterr);

        if (r == 0 && map_report(&k->report) < 0) {
                k->report = NULL;
                r = err_set_errno(reterr, -ENOMEM, "process %d: cannot copy it", (int)f->pid);
        }
        if (r == 0) {
                r = start_keeper(k, &f->keeper);
                if (r < 0)
                        err_set_errno(reterr, r, "cannot start a process");
        }
        f->keeper_fd = k->fd;
        return r;
}

static void forget_keeper(struct keeper *k, struct target *t) {
        if (k->report)
                munmap(k->report, sizeof(*k->report));
        target_close(t);
}

int frozen_make(struct frozen *f, pid_t pid, frozen_moment *at_moment, void *ctx,
                struct err *reterr) {
        struct keeper k = {.fd = -1, .has_moment = at_moment != NULL};
        struct target t = {.mem_fd = -1};
        struct err unsaid;
        int r;

        *f = (struct frozen){.pid = pid, .mem_fd = -1, .keeper_fd = -1};
        r = with_keeper(f, &k, &t, reterr);
        if (r == 0)
                r = hear_all(f, &k, at_moment, ctx, reterr);
        if (r == 0)
                r = open_copy(f, reterr);
        forget_keeper(&k, &t);
        if (r < 0)
                frozen_end(f, &unsaid);
        return r;
}

/* A keeper that was killed has left a zombie behind: another one looks after it. */
static int collect_for(struct frozen *f, struct err *reterr) {
        struct keeper k = {.fd = -1, .copy.inner_pid = f->inner_pid};
        struct target t = {.mem_fd = -1};
        int r = with_keeper(f, &k, &t, reterr);

        if (r == 0)
                r = dismiss(f);
        if (r == 0 && k.report->result < 0) {
                *reterr = k.report->err;
                r = k.report->result;
        }
        forget_keeper(&k, &t);
        return r;
}

int frozen_end(struct frozen *f, struct err *reterr) {
        pid_t inner_pid = f->inner_pid;
        int r;

        if (f->mem_fd >= 0)
                close(TAKE_FD(f->mem_fd));
        r = dismiss(f);
        if (r == -EINTR && inner_pid && !process_is_over(f->pid))
                r = collect_for(f, reterr);
        else if (r < 0)
                err_set_errno(reterr, r, "process %d: the end of its copy", (int)f->pid);
        vec_free(&f->threads);
        return r;
}
