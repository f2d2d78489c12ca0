/* SPDX-License-Identifier: MIT */
/* One record of a perf ring, as plain fields. A pure function of bytes, which may be anything: nothing is looked at beyond n. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What silt asks each sample for (perf_events.c), and therefore what lies in it. */
enum perf_abi { PERF_ABI_NONE = 0, PERF_ABI_32 = 1, PERF_ABI_64 = 2 };

enum {
        PERF_MAX_KERNEL_FRAMES = 128,
        PERF_N_REGS = 4, /* aarch64: x29, lr, sp, pc. x86_64: di, bp, sp, ip */
};
#if defined(__aarch64__)
#define PERF_REGS_MASK (0xfull << 29)
#else
#define PERF_REGS_MASK (0xfull << 5)
#endif

struct perf_sample {
        /* kernel frames, innermost first: the first one is where it was, the others return addresses */
        size_t n_kernel;
        uint64_t kernel_pcs[PERF_MAX_KERNEL_FRAMES];
        enum perf_abi abi;       /* NONE: a thread without a user's side; the four below are 0 */
        uint64_t pc, sp, fp, lr; /* lr, x86_64: di (remote_regs) */
        const uint8_t *stack;    /* in the bytes that were decoded; n_stack 0: none */
        size_t n_stack;
};

struct perf_record {
        uint32_t type; /* PERF_RECORD_* */
        uint32_t pid, tid;
        uint64_t time_ns, event_id;
        struct perf_sample sample;
        /* FORK, EXIT: whose child it is */
        uint32_t parent_pid, parent_tid;
        /* MMAP2 */
        uint64_t begin, end, file_offset;
        bool is_code;
        const char *text;          /* MMAP2: path; COMM: name. In the bytes that were decoded */
        bool is_exec;              /* COMM: because of an exec */
        bool is_out, is_preempted; /* SWITCH */
        uint64_t n_lost;           /* LOST */
};

/* False: it is no record that this silt can have asked for. Of a type that is not listed above only the type is filled. */
bool perf_record_decode(const uint8_t *bytes, size_t n, struct perf_record *ret);

/* Its time alone, for putting records of several rings into order; 0: it has none. */
uint64_t perf_record_time_ns(const uint8_t *bytes, size_t n);
