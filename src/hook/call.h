/* SPDX-License-Identifier: MIT */
/* How a hook calls its real function. */
#pragma once

#include "hook/thread.h"

#define CALL_SITE ((const void *)__builtin_return_address(0))

/* While the real function runs the thread says which one it is in, so that calls it makes itself
 * are told from a signal handler's (thread_is_recursion). What was there before is put back. A
 * real function left by an exception or longjmp leaves its mark behind; it can only be taken for
 * a call of that same function's code. */
static inline __attribute__((always_inline)) const struct real_fn *call_begin(
        struct thread *t, const struct real_fn *fn, bool is_sampled) {
        const struct real_fn *outer = t->in_real;

        if (unlikely(is_sampled)) {
                thread_hold_tally(t, fn);
        } else {
                t->in_real = fn;
                atomic_signal_fence(memory_order_seq_cst);
        }
        SIGNAL_POINT("call/begun");
        return outer;
}

static inline __attribute__((always_inline)) void call_end(struct thread *t,
                                                           const struct real_fn *outer,
                                                           bool is_sampled) {
        SIGNAL_POINT("call/returned");
        atomic_signal_fence(memory_order_seq_cst);
        t->in_real = outer;
        if (unlikely(is_sampled) && !outer)
                thread_give_tally(t);
        SIGNAL_POINT("call/ended");
}

#define CALL_REAL(t, is_sampled, name, ...)                                                        \
        ({                                                                                         \
                const struct real_fn *outer_ = call_begin(t, &real.name, is_sampled);              \
                __auto_type result_ = REAL(name)(__VA_ARGS__);                                     \
                call_end(t, outer_, is_sampled);                                                   \
                result_;                                                                           \
        })

/* The same for functions that return nothing. */
#define CALL_REAL_VOID(t, is_sampled, name, ...)                                                   \
        do {                                                                                       \
                const struct real_fn *outer_ = call_begin(t, &real.name, is_sampled);              \
                REAL(name)(__VA_ARGS__);                                                           \
                call_end(t, outer_, is_sampled);                                                   \
        } while (0)
