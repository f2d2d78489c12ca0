/* SPDX-License-Identifier: MIT */
/* What depends on the architecture: registers as ptrace has them, the signal frame that gives them back, system calls that
 * were interrupted. Nothing here touches a process: bytes in, bytes out, so that both are compiled and tested everywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        MACHINE_MAX_REGS_BYTES = 272,
        MACHINE_MAX_VECTOR_BYTES = 16384,
        MACHINE_MAX_FRAME_BYTES = MACHINE_MAX_VECTOR_BYTES + 1024,
        MACHINE_MAX_DWARF_REGS = 32,
};

/* All that a thread has in registers, and its signal mask. */
struct machine_state {
        _Alignas(16) uint8_t regs[MACHINE_MAX_REGS_BYTES]; /* NT_PRSTATUS */
        size_t n_regs_bytes;
        _Alignas(64) uint8_t vectors[MACHINE_MAX_VECTOR_BYTES]; /* machine.vector_set */
        size_t n_vector_bytes;
        uint64_t mask;
};

struct machine_call {
        uint64_t function, args[6];
        uint64_t stack;     /* as machine_frame has it */
        uint64_t return_to; /* code that makes rt_sigreturn */
};

/* How a system call goes on that was stopped in. */
enum machine_again {
        AGAIN_NONE = 0, /* there was none, or it has ended by itself */
        AGAIN_SAME,     /* made again with what it was made with */
        AGAIN_RESTART,  /* the kernel knows what is left of its time: restart_syscall */
        AGAIN_LATE,     /* ended with EINTR, made again with its time-out less what has passed */
};

/* A system call as /proc/PID/task/TID/syscall tells it before the stop. */
struct machine_syscall {
        bool is_known;
        int64_t number;
        uint64_t args[6], sp, pc;
};

/* What silt knows of a system call that waits. */
enum machine_wait {
        WAIT_OTHER = 0, /* not one that silt stops */
        WAIT_PLAIN, /* it may be made again as it was: no time-out, or one that the kernel keeps in memory */
        WAIT_RESTARTED,   /* the kernel keeps its time-out to itself */
        WAIT_INTERRUPTED, /* a stop makes it fail, and it may be made again; its time-out, if any, begins anew where no argument holds it */
};

/* A call's time-out. */
enum {
        TIMEOUT_NONE = -1,   /* otherwise: which argument has its milliseconds */
        TIMEOUT_HIDDEN = -2, /* there is one, in memory */
};

/* What the first argument is of a call that a stop makes fail, with nothing done. */
enum machine_first {
        FIRST_NONE = 0, /* it is not such a call */
        FIRST_ADDRESS,
        FIRST_SOCKET,
        FIRST_EPOLL,
        FIRST_RING, /* of io_uring */
        FIRST_SEMAPHORES,
        FIRST_ANY,
};

struct machine {
        uint16_t elf_machine;
        uint32_t vector_set; /* NT_PRFPREG, NT_X86_XSTATE */
        size_t n_regs_bytes;
        int64_t number_rt_sigreturn, number_mmap, number_clone, number_exit_group, number_wait4,
                number_close_range, number_futex, number_futex_waitv, number_restart;
        unsigned after_call_bytes;
        unsigned below_stack_bytes; /* that belong to a function below its stack pointer */

        uint64_t (*pc)(const struct machine_state *s);
        uint64_t (*sp)(const struct machine_state *s);
        void (*set_pc)(struct machine_state *s, uint64_t pc);

        /* The registers for the call; where rt_sigreturn leads back into. */
        void (*call)(struct machine_state *s, const struct machine_call *call);
        /* The same for a system call: call->function is an instruction that makes one, and returns. */
        void (*call_kernel)(struct machine_state *s, int64_t number,
                            const struct machine_call *call);
        /* True when the kernel is about to make a call again, and knows how only while nobody has touched the registers. */
        bool (*is_to_restart)(const struct machine_state *s);

        /* Bytes that a frame of this state takes; and the frame itself for memory at addr, which must be what frame_align says.
         * The call's stack pointer is addr; at its rt_sigreturn it is after_call_bytes higher. */
        size_t (*frame_bytes)(const struct machine_state *s);
        void (*frame)(const struct machine_state *s, uint64_t addr, uint64_t return_to,
                      uint8_t *ret);
        uint64_t (*frame_align)(uint64_t highest); /* the highest place for a frame at or below */
        size_t frame_pc_off,
                frame_result_off; /* where it has the program counter, and the result of a call */

        /* Registers by DWARF's numbers, from 0 on; how many. */
        unsigned (*dwarf)(const struct machine_state *s, uint64_t ret[MACHINE_MAX_DWARF_REGS]);

        /* Which kind of waiting the call is. */
        enum machine_wait (*wait)(const struct machine_syscall *call, int *ret_timeout_arg);

        /* True when the state is of a thread
         * stopped in this call; then *ret says how it goes on, and the state is changed so that it does. */
        bool (*again)(struct machine_state *s, const struct machine_syscall *call,
                      enum machine_wait wait, enum machine_again *ret);
        /* Not FIRST_NONE when the state is of a thread whose call, one that a stop makes fail, has just failed with EINTR; *ret is that call,
         * its first argument UINT64_MAX where it cannot be told. */
        enum machine_first (*failed_wait)(const struct machine_state *s,
                                          struct machine_syscall *ret);
        /* True when any handler that runs ends the call, with EINTR; false: only one without SA_RESTART. */
        bool (*ends_by_handler)(const struct machine_syscall *call);
        void (*set_failed)(struct machine_state *s,
                           uint64_t pc); /* with EINTR; pc: behind the call */
        void (*set_arg)(struct machine_state *s, unsigned arg, uint64_t value);
        void (*set_restart)(
                struct machine_state *s); /* restart_syscall instead of the call itself */

        /* Whether these words are the place a handler returns to, as the kernel keeps it on the stack. 0 words: entries are of one instruction,
         * and nobody is in the middle of that. */
        bool (*is_saved_pc)(const uint64_t *words);
        unsigned saved_pc_words;

        size_t syscall_bytes; /* of the instruction that makes a system call */
        /* The code that makes rt_sigreturn, which every process has: its bytes, that instruction last. */
        const uint8_t *return_code;
        size_t return_code_bytes;
        /* That instruction and a return: there is such a place in every C library. */
        const uint8_t *call_code;
        size_t call_code_bytes;
};

extern const struct machine machine_aarch64, machine_x86_64;

#if defined(__aarch64__)
#define machine_own machine_aarch64
#else
#define machine_own machine_x86_64
#endif
