/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "attach/machine.h"

/* struct user_regs_struct */
/* clang-format off */
enum {
        R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI, ORIG_RAX, RIP, CS, EFLAGS, RSP, SS, FS_BASE, GS_BASE, DS, ES,
        FS, GS, N_REGS,
};

/* struct rt_sigframe: return address, ucontext, siginfo; the vector registers behind it, where a pointer says */
enum {
        FRAME_FLAGS = 8, FRAME_STACK_FLAGS = 8 + 24, FRAME_CONTEXT = 8 + 40, FRAME_SELECTORS = FRAME_CONTEXT + 144,
        FRAME_VECTORS = FRAME_CONTEXT + 184, FRAME_MASK = 8 + 296, FRAME_HEAD_BYTES = 8 + 304 + 128, VECTORS_ALIGN = 64,
        FLAGS = 1 | 2 | 4, /* XSAVE, the stack segment is there, and is to be taken */
        BAD_STACK_FLAGS = 4, /* no alternate stack is like that: the thread keeps the one it has */
        SOFTWARE_OFF = 464, IN_USE_OFF = 512, VECTORS_HEAD_BYTES = 576, MAGIC_FIRST = 0x46505853, MAGIC_LAST = 0x46505845,
        USER_CS = 0x33, /* of 64-bit code */
};

enum { PART_YMM = 2, PART_TILE_CONFIG = 17, PART_TILES = 18, N_PARTS = 63 };

enum {
        NR_READ = 0, NR_WRITE = 1, NR_POLL = 7, NR_MMAP = 9, NR_RT_SIGRETURN = 15, NR_READV = 19, NR_WRITEV = 20, NR_SELECT = 23, NR_PAUSE = 34,
        NR_NANOSLEEP = 35, NR_CONNECT = 42, NR_ACCEPT = 43, NR_SENDTO = 44, NR_RECVFROM = 45, NR_SENDMSG = 46, NR_RECVMSG = 47, NR_CLONE = 56, NR_WAIT4 = 61,
        NR_SEMOP = 65, NR_MSGSND = 69, NR_MSGRCV = 70, NR_FCNTL = 72, NR_FLOCK = 73, NR_RT_SIGTIMEDWAIT = 128, NR_RT_SIGSUSPEND = 130,
        NR_FUTEX = 202, NR_IO_GETEVENTS = 208, NR_RESTART = 219, NR_SEMTIMEDOP = 220, NR_CLOCK_NANOSLEEP = 230, NR_EXIT_GROUP = 231, NR_EPOLL_WAIT = 232,
        NR_MQ_TIMEDSEND = 242, NR_MQ_TIMEDRECEIVE = 243, NR_WAITID = 247, NR_PSELECT6 = 270, NR_PPOLL = 271, NR_EPOLL_PWAIT = 281,
        NR_ACCEPT4 = 288, NR_RECVMMSG = 299, NR_SENDMMSG = 307, NR_IO_URING_ENTER = 426, NR_CLOSE_RANGE = 436, NR_EPOLL_PWAIT2 = 441, NR_FUTEX_WAITV = 449,
};

enum { ERESTARTSYS_ = 512, ERESTARTNOINTR_ = 513, ERESTARTNOHAND_ = 514, ERESTART_RESTARTBLOCK_ = 516, SYSCALL_BYTES = 2 };
/* clang-format on */

static const unsigned argument_regs[6] = {RDI, RSI, RDX, R10, R8, R9};

static uint64_t get(const struct machine_state *s, unsigned reg) {
        uint64_t value;

        memcpy(&value, s->regs + reg * sizeof(value), sizeof(value));
        return value;
}

static void set(struct machine_state *s, unsigned reg, uint64_t value) {
        memcpy(s->regs + reg * sizeof(value), &value, sizeof(value));
}

static uint64_t x86_64_pc(const struct machine_state *s) {
        return get(s, RIP);
}

static uint64_t x86_64_sp(const struct machine_state *s) {
        return get(s, RSP);
}

/* No system call is to be made again on the way. */
static void x86_64_set_pc(struct machine_state *s, uint64_t pc) {
        set(s, RIP, pc);
        set(s, ORIG_RAX, UINT64_MAX);
}

static void x86_64_call(struct machine_state *s, const struct machine_call *call) {
        static const unsigned regs[6] = {RDI, RSI, RDX, RCX, R8, R9};

        for (unsigned i = 0; i < 6; i++)
                set(s, regs[i], call->args[i]);
        set(s, RAX, 0);
        set(s, RBP, 0);
        set(s, EFLAGS, get(s, EFLAGS) & ~UINT64_C(0x400)); /* strings go upwards */
        set(s, RSP, call->stack); /* the frame begins with the return address */
        x86_64_set_pc(s, call->function);
}

static void x86_64_call_kernel(struct machine_state *s, int64_t number,
                               const struct machine_call *call) {
        for (unsigned i = 0; i < 6; i++)
                set(s, argument_regs[i], call->args[i]);
        set(s, RAX, (uint64_t)number);
        set(s, RSP, call->stack); /* the frame begins with the return address */
        x86_64_set_pc(s, call->function);
}

static bool x86_64_is_to_restart(const struct machine_state *s) {
        if ((int64_t)get(s, ORIG_RAX) < 0)
                return false;
        switch (-(int64_t)get(s, RAX)) {
        case ERESTARTSYS_:
        case ERESTARTNOINTR_:
        case ERESTARTNOHAND_:
        case ERESTART_RESTARTBLOCK_: return true;
        default: return false;
        }
}

static size_t vectors_off(uint64_t addr) {
        uint64_t at = (addr + FRAME_HEAD_BYTES + VECTORS_ALIGN - 1) & -(uint64_t)VECTORS_ALIGN;

        return (size_t)(at - addr);
}

/* ptrace tells of room for all that the processor has; rt_sigreturn refuses a frame that is larger than what the thread has, and takes
 * nothing from it but the lower halves. A thread that never used tiles (AMX) has no room for them. */
static size_t frame_vector_bytes(const struct machine_state *s, uint64_t *ret_parts) {
        size_t n = s->n_vector_bytes;
        uint64_t parts = 0, in_use = 0;

        if (n >= VECTORS_HEAD_BYTES) {
                memcpy(&parts, s->vectors + SOFTWARE_OFF, sizeof(parts));
                memcpy(&in_use, s->vectors + IN_USE_OFF, sizeof(in_use));
        }
#if defined(__x86_64__)
        const uint64_t tiles = UINT64_C(1) << PART_TILE_CONFIG | UINT64_C(1) << PART_TILES;
        uint32_t n_bytes, off, c, d;

        if ((parts & tiles) && !(in_use & tiles)) {
                parts &= ~tiles;
                n = VECTORS_HEAD_BYTES;
                for (uint32_t part = PART_YMM; part < N_PARTS; part++)
                        if (parts >> part & 1 &&
                            __get_cpuid_count(0xd, part, &n_bytes, &off, &c, &d) &&
                            off + n_bytes > n && off + n_bytes <= s->n_vector_bytes)
                                n = off + n_bytes;
        }
#endif
        *ret_parts = parts;
        return n;
}

static size_t x86_64_frame_bytes(const struct machine_state *s) {
        uint64_t parts;

        return FRAME_HEAD_BYTES + VECTORS_ALIGN + frame_vector_bytes(s, &parts) + 8;
}

static void put32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value) {
        memcpy(at, &value, sizeof(value));
}

/* As the kernel marks what XSAVE has stored; ptrace tells the features in the same place. */
static void put_vectors(const struct machine_state *s, uint8_t *at) {
        uint64_t parts;
        uint32_t n = (uint32_t)frame_vector_bytes(s, &parts);

        memcpy(at, s->vectors, n);
        memset(at + SOFTWARE_OFF, 0, 48);
        put32(at + SOFTWARE_OFF, MAGIC_FIRST);
        put32(at + SOFTWARE_OFF + 4, n + 4);
        put64(at + SOFTWARE_OFF + 8, parts);
        put32(at + SOFTWARE_OFF + 16, n);
        put32(at + n, MAGIC_LAST);
}

static void x86_64_frame(const struct machine_state *s, uint64_t addr, uint64_t return_to,
                         uint8_t *ret) {
        static const unsigned order[] = {R8,  R9,  R10, R11, R12, R13, R14, R15, RDI,
                                         RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, EFLAGS};
        size_t off = vectors_off(addr);

        memset(ret, 0, x86_64_frame_bytes(s));
        put64(ret, return_to);
        put64(ret + FRAME_FLAGS, FLAGS);
        put32(ret + FRAME_STACK_FLAGS, BAD_STACK_FLAGS);
        for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
                put64(ret + FRAME_CONTEXT + 8 * (size_t)i, get(s, order[i]));
        put64(ret + FRAME_SELECTORS, (get(s, CS) & 0xffff) | (get(s, GS) & 0xffff) << 16 |
                                             (get(s, FS) & 0xffff) << 32 |
                                             (get(s, SS) & 0xffff) << 48);
        put64(ret + FRAME_MASK, s->mask);
        if (s->n_vector_bytes < VECTORS_HEAD_BYTES)
                return; /* they become what they are at a program's start */
        put64(ret + FRAME_VECTORS, addr + off);
        put_vectors(s, ret + off);
}

/* As at a function's first instruction: the return address lies 8 below a multiple of 16. */
static uint64_t x86_64_frame_align(uint64_t highest) {
        return ((highest - 8) & ~UINT64_C(15)) + 8;
}

static unsigned x86_64_dwarf(const struct machine_state *s, uint64_t ret[MACHINE_MAX_DWARF_REGS]) {
        static const unsigned order[] = {RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8,
                                         R9,  R10, R11, R12, R13, R14, R15, RIP};

        for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
                ret[i] = get(s, order[i]);
        return sizeof(order) / sizeof(order[0]);
}

enum {
        RING_IS_INDEX = 16,
        RING_HAS_TIME = 8,          /* or a signal mask */
        SEND_MORE_THAN = 0x24000000 /* MSG_FASTOPEN, MSG_ZEROCOPY: something may be under way */
};

static enum machine_wait interrupted(uint64_t has_time, int *ret_timeout_arg) {
        *ret_timeout_arg = has_time ? TIMEOUT_HIDDEN : TIMEOUT_NONE;
        return WAIT_INTERRUPTED;
}

static enum machine_wait x86_64_wait(const struct machine_syscall *call, int *ret_timeout_arg) {
        const uint64_t *args = call->args;

        *ret_timeout_arg = TIMEOUT_NONE;
        switch (call->number) {
        case NR_RECVFROM:
                return args[3] & 0x100
                               ? WAIT_OTHER
                               : WAIT_INTERRUPTED; /* MSG_WAITALL: part of it may be there */
        case NR_RECVMSG: return args[2] & 0x100 ? WAIT_OTHER : WAIT_INTERRUPTED;
        case NR_EPOLL_WAIT:
        case NR_EPOLL_PWAIT: *ret_timeout_arg = 3; return WAIT_INTERRUPTED;
        case NR_READ:
        case NR_READV:
        case NR_ACCEPT:
        case NR_ACCEPT4:
        case NR_SEMOP: return WAIT_INTERRUPTED;
        case NR_RT_SIGTIMEDWAIT: return interrupted(args[2], ret_timeout_arg);
        case NR_SEMTIMEDOP:
        case NR_EPOLL_PWAIT2: return interrupted(args[3], ret_timeout_arg);
        /* where several are waited for, or some were handed in, a stop is the end of it */
        case NR_IO_GETEVENTS:
                return args[1] > 1 ? WAIT_OTHER : interrupted(args[4], ret_timeout_arg);
        case NR_IO_URING_ENTER:
                return args[1] || (uint32_t)args[2] > 1
                               ? WAIT_OTHER
                               : interrupted(args[3] & RING_HAS_TIME, ret_timeout_arg);
        case NR_FCNTL:
                return args[1] == 7 || args[1] == 38 ? WAIT_PLAIN
                                                     : WAIT_OTHER; /* F_SETLKW, F_OFD_SETLKW */
        case NR_FLOCK:
        case NR_SELECT:
        case NR_PSELECT6:
        case NR_PPOLL:
        case NR_PAUSE:
        case NR_WAITID:
        case NR_WAIT4:
        case NR_MSGRCV:
        case NR_MSGSND:
        case NR_MQ_TIMEDRECEIVE:
        case NR_MQ_TIMEDSEND:
        case NR_FUTEX_WAITV:
        case NR_RT_SIGSUSPEND: return WAIT_PLAIN;
        case NR_FUTEX: return (args[1] & 0x7f) == 0 && args[3] ? WAIT_RESTARTED : WAIT_PLAIN;
        case NR_CLOCK_NANOSLEEP:
                return args[1] & 1 ? WAIT_PLAIN : WAIT_RESTARTED; /* TIMER_ABSTIME */
        case NR_POLL: return (int32_t)args[2] < 0 ? WAIT_PLAIN : WAIT_RESTARTED;
        case NR_NANOSLEEP:
        case NR_RESTART: return WAIT_RESTARTED; /* it was stopped before, by whomever */
        default: return WAIT_OTHER;
        }
}

/* The kernel leaves what it will do about the call in rax. */
static bool x86_64_again(struct machine_state *s, const struct machine_syscall *call,
                         enum machine_wait wait, enum machine_again *ret) {
        int64_t result = (int64_t)get(s, RAX);

        *ret = AGAIN_NONE;
        if ((int64_t)get(s, ORIG_RAX) != call->number || get(s, RSP) != call->sp ||
            get(s, RIP) != call->pc)
                return false;
        for (unsigned i = 0; i < 6; i++)
                if (get(s, argument_regs[i]) != call->args[i])
                        return false;
        switch (-result) {
        case ERESTARTSYS_:
        case ERESTARTNOINTR_:
        case ERESTARTNOHAND_: *ret = AGAIN_SAME; break;
        case ERESTART_RESTARTBLOCK_:
                *ret = wait == WAIT_RESTARTED ? AGAIN_RESTART : AGAIN_SAME;
                break;
        case EINTR:
                if (wait == WAIT_INTERRUPTED)
                        *ret = AGAIN_LATE;
                break;
        default: break;
        }
        if (*ret == AGAIN_NONE)
                return false;
        x86_64_set_pc(s, call->pc - SYSCALL_BYTES);
        set(s, RAX, (uint64_t)call->number);
        return true;
}

/* Of calls that report EINTR when a stop ends them, having done nothing: sockets do where they have a time-out. */
static enum machine_first first_of(const struct machine_syscall *call) {
        const uint64_t *args = call->args;

        switch (call->number) {
        case NR_SENDTO:
        case NR_SENDMMSG: return args[3] & SEND_MORE_THAN ? FIRST_NONE : FIRST_SOCKET;
        case NR_SENDMSG: return args[2] & SEND_MORE_THAN ? FIRST_NONE : FIRST_SOCKET;
        case NR_READ:
        case NR_READV:
        case NR_RECVFROM:
        case NR_RECVMSG:
        case NR_RECVMMSG:
        case NR_ACCEPT:
        case NR_ACCEPT4:
        case NR_WRITE:
        case NR_WRITEV:
        case NR_CONNECT: return FIRST_SOCKET;
        case NR_EPOLL_WAIT:
        case NR_EPOLL_PWAIT:
        case NR_EPOLL_PWAIT2: return FIRST_EPOLL;
        case NR_IO_URING_ENTER: return args[3] & RING_IS_INDEX ? FIRST_ANY : FIRST_RING;
        case NR_SEMOP:
        case NR_SEMTIMEDOP: return FIRST_SEMAPHORES;
        case NR_RT_SIGTIMEDWAIT:
        case NR_IO_GETEVENTS: return FIRST_ADDRESS;
        default: return FIRST_NONE;
        }
}

static enum machine_first x86_64_failed_wait(const struct machine_state *s,
                                             struct machine_syscall *ret) {
        int64_t number = (int64_t)get(s, ORIG_RAX);

        if ((int64_t)get(s, RAX) != -EINTR)
                return FIRST_NONE;
        *ret = (struct machine_syscall){true, number, .sp = get(s, RSP), .pc = get(s, RIP)};
        for (unsigned i = 0; i < 6; i++)
                ret->args[i] = get(s, argument_regs[i]);
        return first_of(ret);
}

/* Those that wait for nothing but time, signals or descriptors. */
static bool x86_64_ends_by_handler(const struct machine_syscall *call) {
        switch (call->number) {
        case NR_SELECT:
        case NR_PSELECT6:
        case NR_POLL:
        case NR_PPOLL:
        case NR_PAUSE:
        case NR_RT_SIGSUSPEND:
        case NR_MSGRCV:
        case NR_MSGSND:
        case NR_RT_SIGTIMEDWAIT:
        case NR_EPOLL_WAIT:
        case NR_EPOLL_PWAIT:
        case NR_IO_GETEVENTS:
        case NR_NANOSLEEP:
        case NR_CLOCK_NANOSLEEP:
        case NR_RESTART: return true;
        case NR_FUTEX: return call->args[3] != 0;
        default: return false;
        }
}

static void x86_64_set_failed(struct machine_state *s, uint64_t pc) {
        x86_64_set_pc(s, pc);
        set(s, RAX, (uint64_t)-EINTR);
}

static void x86_64_set_arg(struct machine_state *s, unsigned arg, uint64_t value) {
        set(s, argument_regs[arg], value);
}

static void x86_64_set_restart(struct machine_state *s) {
        set(s, RAX, NR_RESTART);
}

/* rip, the flags, and the selectors, that of the code first: the end of struct sigcontext's registers. */
static bool x86_64_is_saved_pc(const uint64_t *words) {
        return (uint16_t)words[2] == USER_CS;
}

/* mov $15, %rax; syscall */
static const uint8_t x86_64_return_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* syscall; ret */
static const uint8_t x86_64_call_code[] = {0x0f, 0x05, 0xc3};

const struct machine machine_x86_64 = {
        .elf_machine = EM_X86_64,
        .vector_set = NT_X86_XSTATE,
        .n_regs_bytes = N_REGS * sizeof(uint64_t),
        .number_rt_sigreturn = NR_RT_SIGRETURN,
        .number_mmap = NR_MMAP,
        .number_clone = NR_CLONE,
        .number_exit_group = NR_EXIT_GROUP,
        .number_wait4 = NR_WAIT4,
        .number_close_range = NR_CLOSE_RANGE,
        .number_futex = NR_FUTEX,
        .number_futex_waitv = NR_FUTEX_WAITV,
        .number_restart = NR_RESTART,
        .after_call_bytes = 8,
        .below_stack_bytes = 128,
        .pc = x86_64_pc,
        .sp = x86_64_sp,
        .set_pc = x86_64_set_pc,
        .call = x86_64_call,
        .call_kernel = x86_64_call_kernel,
        .is_to_restart = x86_64_is_to_restart,
        .frame_bytes = x86_64_frame_bytes,
        .frame = x86_64_frame,
        .frame_align = x86_64_frame_align,
        .frame_pc_off = FRAME_CONTEXT + 16 * 8,
        .frame_result_off = FRAME_CONTEXT + 13 * 8,
        .dwarf = x86_64_dwarf,
        .wait = x86_64_wait,
        .again = x86_64_again,
        .failed_wait = x86_64_failed_wait,
        .ends_by_handler = x86_64_ends_by_handler,
        .set_failed = x86_64_set_failed,
        .set_arg = x86_64_set_arg,
        .set_restart = x86_64_set_restart,
        .is_saved_pc = x86_64_is_saved_pc,
        .saved_pc_words = 3,
        .syscall_bytes = SYSCALL_BYTES,
        .return_code = x86_64_return_code,
        .return_code_bytes = sizeof(x86_64_return_code),
        .call_code = x86_64_call_code,
        .call_code_bytes = sizeof(x86_64_call_code),
};
