/* SPDX-License-Identifier: MIT */
/* What the runtime keeps for a thread: a lane (ring and walker) for its events, a second lane
 * for those of signal handlers that interrupted the first, and which real function it is in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hook/real.h"
#include "hook/runtime.h"
#include "hook/tokens.h"
#include "unwind/unwind.h"
#include "wire/ring_writer.h"
#include "wire/signal_point.h"

#pragma GCC visibility push(hidden)

struct thread;

/* Calls inside calls: inner.h. */
enum { INNER_MAX_OPEN = 8, INNER_MAX_BLOCKS = 16, INNER_MAX_NOTED = 12, INNER_N_WAYS = 8 };

struct inner_call {
        const struct real_fn *fn;
        uintptr_t frame, block;
        uint32_t first_block; /* of those in `inner` */
};

struct inner_block {
        uintptr_t block;
        uint64_t size_bytes;
        uint8_t form;
};

/* Used by one activation at a time: `inside` is set while it is. */
struct lane {
        struct ring_writer ring;
        struct unwind_walker *walker; /* owned; right behind the struct that holds the lane */
        struct tokens tokens;         /* with room right behind the walker */
        uint32_t inside;
        bool prepares; /* before each walk: a record did not reach the ring, or the loader must be asked */
        bool module_was_lost; /* a MODULE record did not reach the ring: announce all again */
        bool is_nested;
        uint64_t last_block, last_block_time; /* its latest allocation: address, and when */
        struct wire_slot *slot;
        uint64_t slot_state; /* when it was claimed */
};

struct thread {
        struct lane lane;
        const struct real_fn
                *in_real; /* the real function being called by the outermost hook; NULL: none */
        const struct real_fn *in_inner; /* the last that was called from within it */
        uint64_t new_size_bytes;        /* asked for in that call when it is an operator new */
        uint64_t fork_time;         /* of the FORK record while this thread forks; 0: it does not */
        struct lane *nested;        /* NULL until needed */
        struct thread *next;        /* all of the process, for reuse */
        _Atomic uint32_t is_locked; /* somebody looks whether it can be reused */
        uint32_t tid;
        bool is_starting_nested;
        bool is_tally_held;       /* thread_tally was taken for a call of in_real, to be put back */
        struct wire_tally *tally; /* what thread_tally is when nothing is unusual; may be NULL */
        /* What its allocations come from where no heap is named (patched_heap.c): mimalloc's, jemalloc's arena; 0: none
         * that can be released whole. */
        uint64_t heap, arena;

        /* fail.c: the last allocation was made to fail; it is tried once more, and fails again; inside another's */
        bool has_failed, fails_again, is_in_fail;

        /* the mean distance that was drawn with; the same for handlers that interrupt the runtime */
        uint64_t sample_mean_bytes, sample_random;
        _Atomic int64_t nested_left_bytes;
        _Atomic uint64_t nested_random;
        uint64_t nested_mean_bytes;

        /* the open calls that are being made, and what was allocated inside */
        uint32_t n_open, n_inner;
        struct inner_call open[INNER_MAX_OPEN];
        struct inner_block inner[INNER_MAX_BLOCKS];
        struct unwind_way ways[INNER_N_WAYS]; /* from inner calls to these, by place of the call */
};

/* Initial-exec: one load from a fixed offset, and no allocation behind our back. */
extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));
/* SAMPLING: what malloc_enter.S counts in, unasked. NULL: not now, since the thread has no state, in_real is set, or
 * somebody is counting already. */
extern __thread struct wire_tally *thread_tally __attribute__((tls_model("initial-exec")));
extern __thread bool thread_is_counted __attribute__((tls_model("initial-exec")));

/* Sets in_real; thread_tally is NULL before, so that malloc_enter.S never counts inside. Whatever a handler finds between two
 * stores is either as before or as if somebody counted. */
static inline void thread_hold_tally(struct thread *t, const struct real_fn *in_real) {
        bool is_there = thread_tally != NULL;

        if (is_there)
                thread_tally = NULL;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("hold/taken");
        t->in_real = in_real;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("hold/begun");
        if (is_there)
                t->is_tally_held = true;
        atomic_signal_fence(memory_order_seq_cst);
}

/* Once in_real is NULL again. Forgetting it is harmless: the next slow way does it. */
static inline void thread_give_tally(struct thread *t) {
        atomic_signal_fence(memory_order_seq_cst);
        if (t->is_tally_held) {
                t->is_tally_held = false;
                atomic_signal_fence(memory_order_seq_cst);
                thread_tally = t->tally;
        }
}

/* The calling thread's state, made when it has none; NULL: there is no slot for it (counted).
 * Only while RECORDING. */
struct thread *thread_start(void);

/* Makes the state over for a process that has just been forked; the other threads' states are
 * forgotten. */
bool thread_restart(struct thread *t);

/* In a forked process, before its first slot. */
void thread_forget_pages(void);

/* In a forked process whose first thread cannot go on with the state it has. */
void thread_forget_all(void);

/* In a program that is attached to again: everybody's rings in the new arena, as far as they live. False: there are not
 * enough; then thread_leave_all. Only while nobody records and nobody is inside. */
bool thread_is_any_inside(void);
bool thread_keep_own(
        void); /* in a forked process; false: whose states the others are cannot be told */
bool thread_restart_all(void);
void thread_leave_all(void);

/* The calling thread has a frame there, or its stack cannot be told. */
bool thread_may_be_in(const struct code_range *code);

/* An event that could not be written for want of a slot. */
void thread_count_unslotted(void);

struct lane *lane_enter_nested(struct thread *t);

/* Takes the lane for one event; NULL: the event is lost (and counted). A signal between the test
 * and the store is over before the store. */
static inline struct lane *lane_enter(struct thread *t) {
        if (unlikely(t->lane.inside))
                return lane_enter_nested(t);
        SIGNAL_POINT("lane/enter");
        t->lane.inside = 1;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("lane/entered");
        return &t->lane;
}

static inline void lane_leave(struct lane *lane) {
        SIGNAL_POINT("lane/leave");
        atomic_signal_fence(memory_order_seq_cst);
        lane->inside = 0;
        SIGNAL_POINT("lane/left");
}

struct thread *thread_get_slow(void);

/* The calling thread's state when its events are to be recorded. NULL: pass through, or serve
 * early memory when runtime_is_early(). */
static inline struct thread *thread_get(void) {
        uint32_t phase = runtime_phase();

        if (likely(phase == RUNTIME_RECORDING) || phase == RUNTIME_SAMPLING) {
                struct thread *t = thread_self;

                if (likely(t != NULL))
                        return t;
        }
        return thread_get_slow();
}

/* The same for hooks that log samples another way. Where the phase is RECORDING, nothing is asked twice. */
static inline struct thread *thread_get_mode(bool *ret_is_sampled) {
        uint32_t phase = runtime_phase();
        struct thread *t = thread_self;

        *ret_is_sampled = false;
        if (likely(phase == RUNTIME_RECORDING && t != NULL))
                return t;
        if (phase != RUNTIME_SAMPLING || t == NULL)
                t = thread_get_slow();
        *ret_is_sampled = runtime.is_sampled;
        return t;
}

/* True while the real functions cannot be called. */
static inline bool runtime_is_early(void) {
        return unlikely(atomic_load_explicit(&runtime.life, memory_order_relaxed) <
                        RUNTIME_LIFE_RECORDING);
}

static inline bool real_fn_has(const struct real_fn *fn, const void *caller) {
        return (uintptr_t)caller - fn->begin < fn->end - fn->begin;
}

/* An inner call belongs to the outer hook's when the real function makes it: from its own code,
 * from that of a form it is built on, or by a tail call, which returns into libsilt.so. Anything
 * else (a signal handler, a new handler, an exception's memory released while a nothrow new
 * handles it) is a call of its own. kind: enum real_kinds, of the inner call. */
static inline bool thread_is_recursion(const struct thread *t, const void *caller, unsigned kind) {
        if (likely(t->in_real == NULL) || !(t->in_real->kinds & kind))
                return false;
        return real_fn_has(t->in_real, caller) ||
               code_range_has(&runtime.self, (uintptr_t)caller) ||
               (t->in_inner && real_fn_has(t->in_inner, caller));
}

#pragma GCC visibility pop
