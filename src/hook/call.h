/* SPDX-License-Identifier: MIT */
/* How a hook calls its real function. */
#pragma once

#include "hook/inner.h"
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

/* Where anybody's code may be inside: around the two above. block: that the call was given, or NULL. */
#define CALL_BEGUN(t, fn, outer, block)                                                            \
        do {                                                                                       \
                if (unlikely((fn)->kinds & REAL_OPEN))                                             \
                        inner_begin(t, fn, __builtin_frame_address(0), block, outer);              \
        } while (0)
#define CALL_ENDED(t, fn, result)                                                                  \
        do {                                                                                       \
                if (unlikely((fn)->kinds & REAL_OPEN)) {                                           \
                        struct unwind_regs from_;                                                  \
                                                                                                   \
                        UNWIND_HERE(&from_);                                                       \
                        inner_end(t, __builtin_frame_address(0), result, &from_);                  \
                }                                                                                  \
        } while (0)

/* old: the block that it was given, or NULL. */
#define CALL_REAL_OF(t, is_sampled, old, name, ...)                                                \
        ({                                                                                         \
                const struct real_fn *outer_ = call_begin(t, &real.name, is_sampled);              \
                void *result_;                                                                     \
                                                                                                   \
                CALL_BEGUN(t, &real.name, outer_, old);                                            \
                result_ = REAL(name)(__VA_ARGS__);                                                 \
                call_end(t, outer_, is_sampled);                                                   \
                CALL_ENDED(t, &real.name, result_);                                                \
                result_;                                                                           \
        })

#define CALL_REAL(t, is_sampled, name, ...) CALL_REAL_OF(t, is_sampled, NULL, name, __VA_ARGS__)

/* The same for functions that release a block. */
#define CALL_REAL_VOID(t, is_sampled, name, block)                                                 \
        do {                                                                                       \
                const struct real_fn *outer_ = call_begin(t, &real.name, is_sampled);              \
                                                                                                   \
                CALL_BEGUN(t, &real.name, outer_, block);                                          \
                REAL(name)(block);                                                                 \
                call_end(t, outer_, is_sampled);                                                   \
                CALL_ENDED(t, &real.name, NULL);                                                   \
        } while (0)
