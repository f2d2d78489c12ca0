/* SPDX-License-Identifier: MIT */
/* How a hook calls its real function. */
#pragma once

#include "hook/thread.h"

#define CALL_SITE ((const void *)__builtin_return_address(0))

/* While the real function runs the thread says which one it is in, so that calls it makes itself
 * are told from a signal handler's (thread_is_recursion). What was there before is put back. A
 * real function left by an exception or longjmp leaves its mark behind; it can only be taken for
 * a call of that same function's code. */
static inline const struct real_fn *call_begin(struct thread *t, const struct real_fn *fn) {
        const struct real_fn *outer = t->in_real;

        t->in_real = fn;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("call/begun");
        return outer;
}

static inline void call_end(struct thread *t, const struct real_fn *outer) {
        SIGNAL_POINT("call/returned");
        atomic_signal_fence(memory_order_seq_cst);
        t->in_real = outer;
        SIGNAL_POINT("call/ended");
}

#define CALL_REAL(t, name, ...)                                                                    \
        ({                                                                                         \
                const struct real_fn *outer_ = call_begin(t, &real.name);                          \
                __auto_type result_ = REAL(name)(__VA_ARGS__);                                     \
                call_end(t, outer_);                                                               \
                result_;                                                                           \
        })

/* The same for functions that return nothing. */
#define CALL_REAL_VOID(t, name, ...)                                                               \
        do {                                                                                       \
                const struct real_fn *outer_ = call_begin(t, &real.name);                          \
                REAL(name)(__VA_ARGS__);                                                           \
                call_end(t, outer_);                                                               \
        } while (0)
