/* SPDX-License-Identifier: MIT */
/* The frame of a patched call: what patched_enter.S saves, and what the two halves of a hook keep between them. */
#pragma once

#include "hook/thread.h"
#include "wire/patch_plan.h"

/* A call of a patched function, as patched_enter.S has saved it. */
struct patched_frame {
#if defined(__aarch64__)
        uint64_t fp, pc;   /* the caller's */
        uint64_t regs[16]; /* x0 … x15: arguments, later what the function left there */
        uint64_t x18;
        const struct wire_entry *entry;
#else
        uint64_t regs[9]; /* rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11 */
#endif
        /* from patched_before to patched_after: the function may change its arguments */
        struct thread *t;
        const struct real_fn *outer;
        uint64_t size_bytes, outer_bytes;
        void *block;
        uint64_t heap; /* that it allocates from, as patched_heap.h has it; 0: none */
#if !defined(__aarch64__)
        uint64_t moved, unused; /* where the function goes on */
        const struct wire_entry *entry;
        uint64_t fp, pc; /* the caller's, side by side as in any frame */
#endif
        /* the caller's stack follows */
};

static inline struct unwind_regs patched_caller(const struct patched_frame *f) {
        return (struct unwind_regs){.pc = f->pc, .sp = (uint64_t)(f + 1), .fp = f->fp};
}

#if defined(__aarch64__)
enum { PATCHED_RESULT = 0 };
_Static_assert(sizeof(struct patched_frame) == 208, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, t) == 160, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, outer) == 168, "as patched_enter.S has it");
#else
enum { PATCHED_RESULT = 6 };
_Static_assert(sizeof(struct patched_frame) == 160, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, t) == 72, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, outer) == 80, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, moved) == 120, "as patched_enter.S has it");
#endif
_Static_assert(offsetof(struct thread, in_real) == 240, "as patched_enter.S has it");
_Static_assert(offsetof(struct wire_entry, call) == 24, "as patched_enter.S has it");
_Static_assert(WIRE_CALL_FREE == 5, "as patched_enter.S has it");
