/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "attach/machine.h"

/* struct user_pt_regs */
enum { REG_SP = 31, REG_PC = 32, REG_PSTATE = 33, N_REGS = 34, REG_LR = 30, REG_NR = 8 };

/* struct rt_sigframe: siginfo, ucontext with the registers, then records of which the first has the vector registers */
enum {
        FRAME_STACK_FLAGS = 128 + 24,
        FRAME_MASK = 128 + 40,
        FRAME_REGS = 128 + 176 + 8,
        FRAME_RECORDS = 128 + 176 + 288,
        RECORD_MAGIC = 0x46508001, /* FPSIMD */
        RECORD_BYTES = 528,
        FRAME_BYTES = FRAME_RECORDS + RECORD_BYTES + 16, /* a record of nothing ends them */
        VECTORS_BYTES = 512,
        BAD_STACK_FLAGS = 4, /* no alternate stack is like that: the thread keeps the one it has */
};

#define PSTATE_BTYPE (UINT64_C(3) << 10)

/* clang-format off */
enum {
        NR_IO_GETEVENTS = 4, NR_EPOLL_PWAIT = 22, NR_FCNTL = 25, NR_FLOCK = 32, NR_READ = 63, NR_WRITE = 64, NR_READV = 65, NR_WRITEV = 66,
        NR_PSELECT6 = 72, NR_PPOLL = 73, NR_EXIT_GROUP = 94, NR_WAITID = 95, NR_FUTEX = 98, NR_NANOSLEEP = 101, NR_CLOCK_NANOSLEEP = 115, NR_RESTART = 128,
        NR_RT_SIGSUSPEND = 133, NR_RT_SIGTIMEDWAIT = 137, NR_RT_SIGRETURN = 139, NR_MQ_TIMEDSEND = 182, NR_MQ_TIMEDRECEIVE = 183, NR_MSGRCV = 188,
        NR_MSGSND = 189, NR_SEMTIMEDOP = 192, NR_SEMOP = 193, NR_ACCEPT = 202, NR_CONNECT = 203, NR_SENDTO = 206, NR_RECVFROM = 207,
        NR_SENDMSG = 211, NR_RECVMSG = 212, NR_CLONE = 220, NR_MMAP = 222, NR_ACCEPT4 = 242, NR_RECVMMSG = 243, NR_WAIT4 = 260, NR_SENDMMSG = 269,
        NR_IO_URING_ENTER = 426, NR_CLOSE_RANGE = 436, NR_EPOLL_PWAIT2 = 441, NR_FUTEX_WAITV = 449,
};
/* clang-format on */

static uint64_t get(const struct machine_state *s, unsigned reg) {
        uint64_t value;

        memcpy(&value, s->regs + reg * sizeof(value), sizeof(value));
        return value;
}

static void set(struct machine_state *s, unsigned reg, uint64_t value) {
        memcpy(s->regs + reg * sizeof(value), &value, sizeof(value));
}

static uint64_t aarch64_pc(const struct machine_state *s) {
        return get(s, REG_PC);
}

static uint64_t aarch64_sp(const struct machine_state *s) {
        return get(s, REG_SP);
}

static void aarch64_set_pc(struct machine_state *s, uint64_t pc) {
        set(s, REG_PC, pc);
        set(s, REG_PSTATE, get(s, REG_PSTATE) & ~PSTATE_BTYPE);
}

static void aarch64_call(struct machine_state *s, const struct machine_call *call) {
        for (unsigned i = 0; i < 6; i++)
                set(s, i, call->args[i]);
        set(s, 29, 0);
        set(s, REG_LR, call->return_to);
        set(s, REG_SP, call->stack);
        aarch64_set_pc(s, call->function);
}

static void aarch64_call_kernel(struct machine_state *s, int64_t number,
                                const struct machine_call *call) {
        aarch64_call(s, call);
        set(s, REG_NR, (uint64_t)number);
}

/* It shows such a call as not made yet: at its instruction. */
static bool aarch64_is_to_restart(const struct machine_state *s) {
        (void)s;
        return false;
}

static size_t aarch64_frame_bytes(const struct machine_state *s) {
        (void)s;
        return FRAME_BYTES;
}

static void put32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

static void aarch64_frame(const struct machine_state *s, uint64_t addr, uint64_t return_to,
                          uint8_t *ret) {
        uint8_t *record = ret + FRAME_RECORDS;

        (void)addr, (void)return_to;
        memset(ret, 0, FRAME_BYTES);
        put32(ret + FRAME_STACK_FLAGS, BAD_STACK_FLAGS);
        memcpy(ret + FRAME_MASK, &s->mask, sizeof(s->mask));
        memcpy(ret + FRAME_REGS, s->regs, N_REGS * sizeof(uint64_t));
        put32(record, RECORD_MAGIC);
        put32(record + 4, RECORD_BYTES);
        memcpy(record + 8, s->vectors + VECTORS_BYTES, 8); /* status and control */
        memcpy(record + 16, s->vectors, VECTORS_BYTES);
}

static uint64_t aarch64_frame_align(uint64_t highest) {
        return highest & ~UINT64_C(15);
}

static unsigned aarch64_dwarf(const struct machine_state *s, uint64_t ret[MACHINE_MAX_DWARF_REGS]) {
        for (unsigned i = 0; i < 32; i++)
                ret[i] = get(s, i);
        return 32;
}

/* FUTEX_WAIT, of any process. Other operations that wait have a moment for their time-out. */
static bool futex_has_time(const struct machine_syscall *call) {
        return (call->args[1] & 0x7f) == 0 && call->args[3];
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

static enum machine_wait aarch64_wait(const struct machine_syscall *call, int *ret_timeout_arg) {
        const uint64_t *args = call->args;

        *ret_timeout_arg = TIMEOUT_NONE;
        switch (call->number) {
        case NR_RECVFROM:
                return args[3] & 0x100
                               ? WAIT_OTHER
                               : WAIT_INTERRUPTED; /* MSG_WAITALL: part of it may be there */
        case NR_RECVMSG: return args[2] & 0x100 ? WAIT_OTHER : WAIT_INTERRUPTED;
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
        case NR_PSELECT6:
        case NR_PPOLL:
        case NR_WAITID:
        case NR_WAIT4:
        case NR_MSGRCV:
        case NR_MSGSND:
        case NR_MQ_TIMEDRECEIVE:
        case NR_MQ_TIMEDSEND:
        case NR_FUTEX_WAITV:
        case NR_RT_SIGSUSPEND: return WAIT_PLAIN;
        case NR_FUTEX: return futex_has_time(call) ? WAIT_RESTARTED : WAIT_PLAIN;
        case NR_CLOCK_NANOSLEEP:
                return args[1] & 1 ? WAIT_PLAIN : WAIT_RESTARTED; /* TIMER_ABSTIME */
        case NR_NANOSLEEP:
        case NR_RESTART: return WAIT_RESTARTED; /* it was stopped before, by whomever */
        default: return WAIT_OTHER;
        }
}

/* The kernel shows a call that it will make again as not made yet: its first argument is there, the program counter at the
 * instruction. One that failed has its error there, and the program counter behind. */
static bool aarch64_again(struct machine_state *s, const struct machine_syscall *call,
                          enum machine_wait wait, enum machine_again *ret) {
        *ret = AGAIN_NONE;
        if ((int64_t)get(s, REG_NR) != call->number || get(s, REG_SP) != call->sp)
                return false;
        for (unsigned i = 1; i < 6; i++)
                if (get(s, i) != call->args[i])
                        return false;
        if (get(s, REG_PC) == call->pc - 4 && get(s, 0) == call->args[0]) {
                *ret = wait == WAIT_RESTARTED ? AGAIN_RESTART : AGAIN_SAME;
                return true;
        }
        if (get(s, REG_PC) != call->pc || (int64_t)get(s, 0) != -EINTR || wait != WAIT_INTERRUPTED)
                return false;
        set(s, REG_PC, call->pc - 4);
        set(s, 0, call->args[0]);
        *ret = AGAIN_LATE;
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

static enum machine_first aarch64_failed_wait(const struct machine_state *s,
                                              struct machine_syscall *ret) {
        if ((int64_t)get(s, 0) != -EINTR)
                return FIRST_NONE;
        *ret = (struct machine_syscall){true, (int64_t)get(s, REG_NR), .sp = get(s, REG_SP),
                                        .pc = get(s, REG_PC)};
        ret->args[0] = UINT64_MAX;
        for (unsigned i = 1; i < 6; i++)
                ret->args[i] = get(s, i);
        return first_of(ret);
}

/* Those that wait for nothing but time, signals or descriptors. */
static bool aarch64_ends_by_handler(const struct machine_syscall *call) {
        switch (call->number) {
        case NR_PSELECT6:
        case NR_PPOLL:
        case NR_RT_SIGSUSPEND:
        case NR_MSGRCV:
        case NR_MSGSND:
        case NR_RT_SIGTIMEDWAIT:
        case NR_EPOLL_PWAIT:
        case NR_IO_GETEVENTS:
        case NR_NANOSLEEP:
        case NR_CLOCK_NANOSLEEP:
        case NR_RESTART: return true;
        case NR_FUTEX: return call->args[3] != 0;
        default: return false;
        }
}

static void aarch64_set_failed(struct machine_state *s, uint64_t pc) {
        set(s, REG_PC, pc);
        set(s, 0, (uint64_t)-EINTR);
}

static void aarch64_set_arg(struct machine_state *s, unsigned arg, uint64_t value) {
        set(s, arg, value);
}

static void aarch64_set_restart(struct machine_state *s) {
        set(s, REG_NR, NR_RESTART);
}

/* mov x8, #139; svc #0 */
static const uint8_t aarch64_return_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

/* svc #0; ret */
static const uint8_t aarch64_call_code[] = {0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6};

const struct machine machine_aarch64 = {
        .elf_machine = EM_AARCH64,
        .vector_set = NT_PRFPREG,
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
        .below_stack_bytes = 0,
        .pc = aarch64_pc,
        .sp = aarch64_sp,
        .set_pc = aarch64_set_pc,
        .call = aarch64_call,
        .call_kernel = aarch64_call_kernel,
        .is_to_restart = aarch64_is_to_restart,
        .frame_bytes = aarch64_frame_bytes,
        .frame = aarch64_frame,
        .frame_align = aarch64_frame_align,
        .frame_pc_off = FRAME_REGS + REG_PC * 8,
        .frame_result_off = FRAME_REGS,
        .dwarf = aarch64_dwarf,
        .wait = aarch64_wait,
        .again = aarch64_again,
        .failed_wait = aarch64_failed_wait,
        .ends_by_handler = aarch64_ends_by_handler,
        .set_failed = aarch64_set_failed,
        .set_arg = aarch64_set_arg,
        .set_restart = aarch64_set_restart,
        .syscall_bytes = 4,
        .return_code = aarch64_return_code,
        .return_code_bytes = sizeof(aarch64_return_code),
        .call_code = aarch64_call_code,
        .call_code_bytes = sizeof(aarch64_call_code),
};
