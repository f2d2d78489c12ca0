/* SPDX-License-Identifier: MIT */
#include "attach/caller.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <time.h>

#include "attach/kill_point.h"
#include "base/macros.h"
#include "base/system_clock.h"

enum {
        CALLER_ROOM_BYTES = 256 << 10,
        CALLER_OWN_STACK_BYTES = 512, /* for mmap and munmap, which are a few instructions */
        CALLER_GUARD_BYTES = 16384,   /* of a thread's stack that must be free below it */
        CALLER_SHORT_MS = 2000,
        CALLER_MAX_SLACK = 4032, /* of a page, in such steps: */
        CALLER_MIN_SLACK = 448,
};

/* All but those that an instruction causes, and those that nothing holds back. */
static const uint64_t caller_blocked = ~(
        UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGILL - 1) |
        UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGKILL - 1) |
        UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(1) << (SIGSYS - 1));

/* The thread's own stack, where it surely is one: below it there is room, and an end. */
static uint64_t find_stack(const struct target *t, const struct machine_state *s, size_t n_bytes) {
        uint64_t sp = machine_own.sp(s) - machine_own.below_stack_bytes;
        const struct mapping *m = target_mapping(t, sp), *below;

        if (!m || !m->is_writable || sp - m->begin < CALLER_GUARD_BYTES + n_bytes)
                return 0;
        below = target_mapping(t, m->begin - 1);
        if (strcmp(m->path, "[stack]") != 0 &&
            !(below && !below->is_readable && !below->is_writable))
                return 0;
        return (sp - n_bytes) & -(uint64_t)64;
}

uint64_t caller_data(const struct caller *c) {
        return c->room + c->room_bytes - CALLER_DATA_BYTES;
}

/* Where the frame of the next call goes: its stack is below. */
static uint64_t frame_place(const struct caller *c, bool in_room) {
        size_t n = machine_own.frame_bytes(&c->safepoint->state);
        uint64_t end = in_room ? caller_data(c) : c->slack + c->slack_bytes;

        return machine_own.frame_align((end - n) & -(uint64_t)64);
}

uint64_t caller_frame(const struct caller *c) {
        return frame_place(c, true);
}

/* It is a fault of the call that it could not be made; the thread is put back. */
static int rescue(struct caller *c, int r, const char *why, struct err *reterr) {
        if (r == -ESRCH)
                return err_set(
                        reterr, r,
                        "process %d (%s) ended while silt was entering it: there is nothing to record",
                        (int)c->target->pid, c->target->name);
        return err_set(reterr, r,
                       "process %d (%s): silt could not enter it: %s: it runs on unchanged",
                       (int)c->target->pid, c->target->name, why);
}

/* 1: the function has returned, 0: it runs on, -errno. */
static int look_at_syscall(struct caller *c, uint64_t frame) {
        struct {
                uint8_t op, pad[3];
                uint32_t arch;
                uint64_t instruction_pointer, stack_pointer;
                union {
                        struct {
                                uint64_t nr, args[6];
                        } entry;
                        struct {
                                int64_t rval;
                                uint8_t is_error;
                        } exit;
                };
        } info = {0};

        if (ptrace(PTRACE_GET_SYSCALL_INFO, c->safepoint->thread.tid, (void *)sizeof(info), &info) <
            0)
                return -errno;
        if (info.op == PTRACE_SYSCALL_INFO_EXIT)
                c->syscall_result = info.exit.rval;
        return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
               (int64_t)info.entry.nr == machine_own.number_rt_sigreturn &&
               info.stack_pointer == frame + machine_own.after_call_bytes;
}

/* It is about to come back by itself. It is made to wait there: at the same instruction once more, with nothing called. */
static int hold_return(struct caller *c) {
        struct tracee *t = &c->safepoint->thread;
        struct machine_state s;
        int r = tracee_read(t, &s);

        if (r == 0)
                r = tracee_interrupt(t);
        if (r == 0)
                r = tracee_skip_syscall(t, &s, c->return_to);
        if (r == 0)
                r = tracee_resume(t, false);
        if (r == 0)
                r = tracee_wait(t, clock_now_ns() + CALLER_SHORT_MS * UINT64_C(1000000));
        return r < 0 ? r : t->stop == STOP_TRAP ? 0 : -EINTR;
}

/* A signal that an instruction has caused is silt's doing. */
static bool is_fault(const struct tracee *t) {
        return t->signal == SIGSEGV || t->signal == SIGBUS || t->signal == SIGILL;
}

/* One system call, from its begin to its end: as few stops as there can be, each of which needs a processor. */
static int run_syscall(struct caller *c, uint64_t until_ns) {
        struct tracee *t = &c->safepoint->thread;
        bool is_begun = false;

        for (;;) {
                int r = tracee_resume(t, t->stop != STOP_GROUP);

                if (r == 0)
                        r = tracee_wait(t, until_ns);
                if (r == 0 && t->stop == STOP_SYSCALL) {
                        r = look_at_syscall(c, UINT64_MAX);
                        if (r == 0 && is_begun)
                                return 0;
                        is_begun = true;
                } else if (r == 0 && t->stop == STOP_CHILD) {
                        c->child = tracee_child(t);
                        tracee_hurry(c->child);
                } else if (r == 0 && t->stop == STOP_SIGNAL && is_fault(t)) {
                        t->signal = 0;
                        return -EFAULT;
                }
                if (r < 0)
                        return r;
        }
}

static int run(struct caller *c, uint64_t frame, uint64_t until_ns) {
        struct tracee *t = &c->safepoint->thread;

        for (;;) {
                int r = tracee_resume(t, true);

                if (r == 0)
                        r = tracee_wait(t, until_ns);
                if (r < 0)
                        return r;
                switch (t->stop) {
                case STOP_SYSCALL:
                        r = look_at_syscall(c, frame);
                        if (r < 0)
                                return r;
                        if (r == 1)
                                return hold_return(c);
                        break;
                case STOP_SIGNAL:
                        if (is_fault(t)) {
                                t->signal = 0;
                                return -EFAULT;
                        }
                        break;
                case STOP_GROUP:
                        /* job control: it stands still until it is continued */
                        tracee_resume(t, false);
                        r = tracee_wait(t, until_ns);
                        if (r < 0)
                                return r;
                        break;
                default: break;
                }
        }
}

/* Vector registers before the others: left in between, the thread returns by its frame. */
static void put_back(struct caller *c) {
        struct safepoint *m = c->safepoint;

        POINT("put-back/begin");
        tracee_write_vectors(&m->thread, &m->state);
        tracee_write_mask(&m->thread, m->state.mask);
        POINT("put-back/mask");
        if (m->again == AGAIN_RESTART)
                machine_own.set_restart(&m->state);
        else if (safepoint_is_call_over(c->target, m))
                machine_own.set_failed(&m->state, m->failed_pc);
        tracee_write_regs(&m->thread, &m->state);
        POINT("put-back/registers");
}

/* The registers are those of a call that returns to that frame. */
static int start_with(struct caller *c, uint64_t frame, const struct machine_state *s) {
        size_t n = machine_own.frame_bytes(&c->safepoint->state);
        uint8_t *bytes = malloc(n);
        int r = bytes ? 0 : -ENOMEM;

        if (r == 0) {
                machine_own.frame(&c->safepoint->state, frame, c->return_to, bytes);
                r = target_write(c->target, frame, bytes, n) ? 0 : -EFAULT;
        }
        free(bytes);
        POINT("call/frame");
        if (r == 0)
                r = tracee_write_regs(&c->safepoint->thread, s);
        POINT("call/registers");
        /* now: the frame gives the mask back, whatever happens */
        if (r == 0)
                r = tracee_write_mask(&c->safepoint->thread, caller_blocked);
        POINT("call/mask");
        return r;
}

static int start(struct caller *c, uint64_t frame, uint64_t function, const uint64_t *args,
                 unsigned n_args) {
        struct machine_call call = {.function = function,
                                    .stack = frame,
                                    .return_to = c->return_to};
        struct machine_state s = c->safepoint->state;

        for (unsigned i = 0; i < n_args; i++)
                call.args[i] = args[i];
        machine_own.call(&s, &call);
        return start_with(c, frame, &s);
}

/* It was made, which went as r says. */
static int finish(struct caller *c, int r, struct err *reterr) {
        POINT("call/returned");
        switch (r) {
        case 0: return 0;
        case -EFAULT: put_back(c); return rescue(c, r, "a call made in it faulted", reterr);
        case -ESRCH: c->is_lost = true; return rescue(c, r, NULL, reterr);
        default:
                c->is_lost = true;
                tracee_drop(&c->safepoint->thread);
                return rescue(c, r, "a call in it took too long", reterr);
        }
}

static int call_on(struct caller *c, uint64_t frame, uint64_t function, const uint64_t *args,
                   unsigned n_args, uint64_t patience_ms, struct err *reterr) {
        int r = start(c, frame, function, args, n_args);

        if (r < 0) {
                put_back(c);
                return rescue(c, r, strerror(-r), reterr);
        }
        return finish(c, run(c, frame, clock_now_ns() + patience_ms * 1000000u), reterr);
}

int caller_call(struct caller *c, uint64_t function, const uint64_t *args, unsigned n_args,
                uint64_t patience_ms, struct err *reterr) {
        return call_on(c, frame_place(c, true), function, args, n_args, patience_ms, reterr);
}

/* Until the process has written something else there. */
static int await_word(const struct caller *c, uint64_t addr, int32_t undone, uint64_t until_ns) {
        const struct timespec moment = {0, 100000};
        sigset_t child;
        int32_t now;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        for (;;) {
                if (!target_read(c->target, addr, &now, sizeof(now)))
                        return -ESRCH;
                if (now != undone)
                        return 0;
                if (clock_now_ns() >= until_ns)
                        return -ETIMEDOUT;
                sigtimedwait(&child, NULL, &moment);
        }
}

/* What the first frame was written over is nobody's: the thread has left it. */
static void clear_slack(const struct caller *c) {
        if (c->slack)
                target_write(c->target, c->slack, c->slack_before, c->slack_bytes);
}

int caller_send(struct caller *c, uint64_t function, const uint64_t *args, unsigned n_args,
                uint64_t done_addr, int32_t undone, uint64_t patience_ms, struct err *reterr) {
        int r;

        if (c->safepoint->again == AGAIN_RESTART)
                return caller_call(c, function, args, n_args, patience_ms, reterr);
        r = start(c, frame_place(c, true), function, args, n_args);
        if (r < 0) {
                put_back(c);
                return rescue(c, r, strerror(-r), reterr);
        }
        clear_slack(c);
        c->is_lost = true;
        tracee_let_go(&c->safepoint->thread);
        POINT("call/sent");
        r = await_word(c, done_addr, undone, clock_now_ns() + patience_ms * 1000000u);
        return r < 0 ? rescue(c, r, "a call in it took too long", reterr) : 0;
}

static int map_room(struct caller *c, struct err *reterr) {
        uint64_t n, function = target_symbol(c->target, target_libc(c->target), "mmap", &n);
        const uint64_t args[] = {0,
                                 CALLER_ROOM_BYTES,
                                 PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS,
                                 UINT64_MAX,
                                 0};
        int r;

        if (!function)
                return rescue(c, -ENOENT, "its C library is unknown", reterr);
        r = call_on(c, frame_place(c, false), function, args, 6, CALLER_SHORT_MS, reterr);
        if (r < 0)
                return r;
        if (c->syscall_result < 0 && c->syscall_result > -4096) {
                put_back(c);
                return rescue(c, (int)c->syscall_result, "it is out of memory", reterr);
        }
        c->room = (uint64_t)c->syscall_result;
        c->room_bytes = CALLER_ROOM_BYTES;
        return 0;
}

static void unmap_room(struct caller *c) {
        uint64_t n, function = target_symbol(c->target, target_libc(c->target), "munmap", &n);
        const uint64_t args[] = {c->room, c->room_bytes};

        if (function)
                call_on(c, frame_place(c, false), function, args, 2, CALLER_SHORT_MS, NULL);
        c->room = 0;
}

static uint64_t find_return(const struct target *t) {
        bool is_vdso = machine_own.elf_machine == EM_AARCH64;
        uint64_t at = target_find_code(t, is_vdso ? "[vdso]" : "libc.so", machine_own.return_code,
                                       machine_own.return_code_bytes);

        return at ? at
                  : target_find_code(t, "libc-2", machine_own.return_code,
                                     machine_own.return_code_bytes);
}

static bool is_code_address(uint64_t at) {
        return machine_own.elf_machine != EM_AARCH64 || at % 4 == 0;
}

bool caller_find_code(const struct target *t, struct caller_code *ret) {
        static const char *const names[] = {"libc.so", "libc-2", "ld-"};

        *ret = (struct caller_code){.return_to = find_return(t), .slack_bytes = CALLER_MAX_SLACK};
        while (ret->slack_bytes >= CALLER_MIN_SLACK &&
               !(ret->slack = target_find_slack(t, ret->slack_bytes)))
                ret->slack_bytes -= CALLER_MIN_SLACK;
        for (size_t i = 0; i < ARRAY_SIZE(names) && !ret->syscall_at; i++)
                ret->syscall_at = target_find_code(t, names[i], machine_own.call_code,
                                                   machine_own.call_code_bytes);
        /* an instruction, not bytes that look like one */
        return ret->return_to && ret->syscall_at && is_code_address(ret->syscall_at);
}

/* A place for the first frame, and for what is below it: the one that was found, or on the stack. */
static int find_place(struct caller *c, uint64_t slack, struct err *reterr) {
        size_t n = c->slack_bytes;

        if (!c->return_to)
                return rescue(c, -ENOENT, "its code for returning from signals was not found",
                              reterr);
        c->slack = slack ? slack : find_stack(c->target, &c->safepoint->state, n);
        if (!c->slack || n > sizeof(c->slack_before) ||
            !target_read(c->target, c->slack, c->slack_before, n)) {
                c->slack = 0;
                return rescue(c, -ENOMEM, "there is no room on its stack", reterr);
        }
        return 0;
}

int caller_begin(struct caller *c, const struct target *t, struct safepoint *m,
                 struct err *reterr) {
        size_t n = machine_own.frame_bytes(&m->state) + 128 + CALLER_OWN_STACK_BYTES;
        int r;

        *c = (struct caller){.target = t,
                             .safepoint = m,
                             .slack_bytes = n,
                             .return_to = find_return(t)};
        r = find_place(c, target_find_slack(t, n), reterr);
        return r < 0 ? r : map_room(c, reterr);
}

int caller_open(struct caller *c, const struct target *t, const struct caller_code *code,
                struct safepoint *m, size_t below_bytes, uint64_t *ret_below, struct err *reterr) {
        size_t n = machine_own.frame_bytes(&m->state) + 128 + below_bytes;
        bool is_slack = n <= code->slack_bytes && target_is_zero(t, code->slack, n);
        int r;

        *c = (struct caller){.target = t,
                             .safepoint = m,
                             .slack_bytes = n,
                             .return_to = code->return_to,
                             .syscall_at = code->syscall_at};
        r = find_place(c, is_slack ? code->slack : 0, reterr);
        if (r == 0)
                *ret_below = frame_place(c, false);
        return r;
}

int caller_syscall(struct caller *c, int64_t number, const uint64_t args[6], uint64_t patience_ms,
                   struct err *reterr) {
        uint64_t frame = frame_place(c, false);
        struct machine_call call = {.function = c->syscall_at,
                                    .stack = frame,
                                    .return_to = c->return_to};
        struct machine_state s = c->safepoint->state;

        int r;

        memcpy(call.args, args, sizeof(call.args));
        machine_own.call_kernel(&s, number, &call);
        r = start_with(c, frame, &s);
        if (r < 0) {
                put_back(c);
                return rescue(c, r, strerror(-r), reterr);
        }
        return finish(c, run_syscall(c, clock_now_ns() + patience_ms * 1000000u), reterr);
}

void caller_end(struct caller *c) {
        if (c->is_lost)
                return;
        if (c->room)
                unmap_room(c);
        if (c->is_lost)
                return;
        put_back(c);
        clear_slack(c);
        POINT("caller/end");
        tracee_let_go(&c->safepoint->thread);
}
