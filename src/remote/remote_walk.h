/* SPDX-License-Identifier: MIT */
/* Stack walks from outside: over a copy of the registers and of the stack of a thread that has run on since. Rows come from
 * the files that the process has mapped (remote_space.h), as src/unwind has them; docs/unwinding.md says what they are.
 *  - beyond the copy nothing is read: the thread has run on, and its callers may be others
 *  - a walk that was cut, guessed or lost says so; only a complete one is a whole stack that is surely right */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/remote_space.h"

struct remote_regs {
        uint64_t pc, sp, fp;
        uint64_t lr; /* aarch64; x86_64: rdi, in which vfork keeps its return address. 0: unknown */
        bool is_fp_unknown;
};

/* The bytes from sp upwards. None: all is read from the process, which should not run then. */
struct remote_stack {
        const uint8_t *bytes;
        size_t n_bytes;
};

enum remote_end {
        REMOTE_COMPLETE, /* a known start of a process, a thread or a coroutine */
        REMOTE_CUT,      /* more frames than asked for, or the copy ended */
        REMOTE_GUESSED,  /* as complete, but a frame pointer was trusted somewhere */
        REMOTE_LOST,     /* no way on from the outermost frame given */
};

/* A pc of this value stands for frames left out of the middle of a very deep stack, as in unwind/unwind.h. */
#define REMOTE_PC_OMITTED UINT64_C(1)
enum { REMOTE_OUTER_KEPT = 64 };

/* Return addresses, innermost first; the first, which was interrupted, is pc + 1. At most cap of them: of a deeper stack the
 * middle is left out, and the REMOTE_OUTER_KEPT outermost are there if cap has room for as many inner ones. */
size_t remote_walk(struct remote_space *s, const struct remote_regs *regs,
                   const struct remote_stack *stack, uint64_t *ret_pcs, size_t cap,
                   enum remote_end *ret_end);
