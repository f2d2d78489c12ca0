/* SPDX-License-Identifier: MIT */
/* Sampling (docs/sampling.md): of every so many bytes that a thread allocates, one is chosen, and
 * the block it lies in is recorded; all others are only counted. Which ones is a Poisson process
 * over the bytes, so blocks are chosen independently of each other, each with a probability that
 * its size and the mean distance decide.
 *
 *  - a block that is not chosen costs additions to the thread's own tally, and a comparison
 *  - its release costs one look at a filter of a bit for each of 65,536 classes of addresses
 *  - both are done by malloc_enter.S where nothing is unusual (thread_tally), and here otherwise
 *  - a signal handler that interrupts the counting counts elsewhere (nested_tally) unless it cannot come between a load and a
 *    store: nothing is lost */
#pragma once

#include "hook/event.h"
#include "hook/sample_filter.h"
#include "wire/sample_draw.h"

#pragma GCC visibility push(hidden)

enum { SAMPLE_BUCKET = 8 }; /* addresses in a cache line of the table */

/* What in_real says while a thread changes its tally. It has no code: nothing is its recursion. */
extern const struct real_fn sample_counting;

/* Maps the table, for a process that is about to record. False: there is no memory for it. */
bool sample_init(uint64_t interval_bytes);

/* malloc_enter.S does not say in in_real that it calls the real functions: they must not call any hook themselves. */
bool sample_can_count_quickly(void);

/* The thread has a slot of its own: draws its first distance. */
void sample_start(struct thread *t);

/* It is the calling thread's: malloc_enter.S may use it. */
static inline void sample_enter(struct thread *t) {
        t->is_tally_held = false;
        atomic_signal_fence(memory_order_seq_cst);
        thread_tally = t->tally;
}

/* malloc_enter.S was interrupted between two changes of the tally. */
static inline bool sample_is_interrupted(const struct thread *t) {
        return t->tally && !thread_tally && !t->is_tally_held;
}

/* The thread may be between two changes of its tally: a handler that forks leaves it to two processes. */
static inline bool sample_is_counting(const struct thread *t) {
        return runtime.is_sampled && (t->in_real || sample_is_interrupted(t));
}

/* The same, for what is about to count. */
static inline bool sample_is_inside(struct thread *t) {
        if (unlikely(t->in_real != NULL))
                return true;
        thread_give_tally(t);
        return sample_is_interrupted(t);
}

/* One writer: no other thread's addition can get lost between load and store. */
static inline void sample_count(_Atomic uint64_t *sum, uint64_t n) {
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

/* Between these two the tally is the interrupted thread's alone. */
static inline void sample_begin(struct thread *t, const struct real_fn *during) {
        thread_hold_tally(t, during);
        SIGNAL_POINT("sample/begun");
}

static inline void sample_end(struct thread *t, const struct real_fn *then) {
        SIGNAL_POINT("sample/counted");
        atomic_signal_fence(memory_order_seq_cst);
        t->in_real = then;
        if (!then)
                thread_give_tally(t);
}

/* By one instruction where there is one: who is killed leaves both or none. */
static inline void sample_set_charge(struct wire_tally *tally, uint64_t n_allocs,
                                     uint64_t due_bytes) {
#if defined(__aarch64__)
        __asm__ volatile("stp %1, %2, [%0]"
                         :
                         : "r"(&tally->n_allocs), "r"(n_allocs), "r"(due_bytes)
                         : "memory");
#else
        atomic_store_explicit(&tally->n_allocs, n_allocs, memory_order_relaxed);
        atomic_store_explicit(&tally->due_bytes, due_bytes, memory_order_release);
#endif
}

/* Counts an allocation; true: it is chosen, and sample_take is next. While in_real is set. */
static inline bool sample_tally_alloc(struct thread *t, size_t size_bytes) {
        struct wire_tally *tally = &t->lane.slot->tally;
        uint64_t n_allocs = atomic_load_explicit(&tally->n_allocs, memory_order_relaxed);
        uint64_t due_bytes = atomic_load_explicit(&tally->due_bytes, memory_order_relaxed) +
                             sample_charge(size_bytes);

        sample_set_charge(tally, n_allocs + 1, due_bytes);
        return (int64_t)due_bytes >= 0;
}

/* What sample_tally_alloc did is undone. */
static inline void sample_tally_uncount(struct thread *t, size_t size_bytes) {
        struct wire_tally *tally = &t->lane.slot->tally;

        sample_set_charge(tally, atomic_load_explicit(&tally->n_allocs, memory_order_relaxed) - 1,
                          atomic_load_explicit(&tally->due_bytes, memory_order_relaxed) -
                                  sample_charge(size_bytes));
}

/* The cold halves. _take: in_real is set, and NULL when it returns. */
void sample_take(struct thread *t, void *block, size_t size_bytes, unsigned form,
                 const struct unwind_regs *from);
void sample_alloc_nested(struct thread *t, void *block, size_t size_bytes, unsigned form,
                         const struct unwind_regs *from);
void sample_count_nested(struct thread *t, uint64_t n_frees, uint64_t n_reallocs);
void sample_release(struct thread *t, void *block);

/* The same where in_real is still set for the call: what came back of it, NULL or a block that was counted and is chosen.
 * Returns it. */
void *sample_finish(struct thread *t, void *block, size_t size_bytes, unsigned form,
                    const struct unwind_regs *from);

/* Where malloc_enter.S counted, the call is over, and none came back: it is as if there had been no call. */
void sample_take_back(struct thread *t, size_t size_bytes);

/* Where it took thread_tally, and did no more: in_real is set as by sample_begin. False: a handler forked meanwhile, and it was
 * the parent's. */
bool sample_begin_chosen(struct thread *t, const struct real_fn *during);

/* After the real call. */
static inline void sample_alloc(struct thread *t, void *block, size_t size_bytes, unsigned form,
                                const struct unwind_regs *from) {
        if (unlikely(sample_is_inside(t))) {
                sample_alloc_nested(t, block, size_bytes, form, from);
                return;
        }
        sample_begin(t, &sample_counting);
        if (unlikely(sample_tally_alloc(t, size_bytes)))
                sample_take(t, block, size_bytes, form, from);
        else
                sample_end(t, NULL);
}

/* Before the real call. */
static inline void sample_free(struct thread *t, void *block) {
        if (unlikely(sample_may_have(block)))
                sample_release(t, block);
        if (unlikely(sample_is_inside(t))) {
                sample_count_nested(t, 1, 0);
                return;
        }
        sample_begin(t, &sample_counting);
        sample_count(&t->lane.slot->tally.n_frees, 1);
        sample_end(t, NULL);
}

/* Around a realloc of old, which may be NULL. _begin returns what _done is to be told: whether old was
 * chosen when it was allocated. */
bool sample_realloc_begin(struct thread *t, void *old);
void sample_realloc_done(struct thread *t, void *old, bool was_chosen, void *block,
                         size_t size_bytes, unsigned form, const struct unwind_regs *from);

/* An allocation and a release from before the runtime could record: all of them are samples. */
void sample_replay_alloc(struct thread *t, const void *block, size_t size_bytes,
                         uint64_t *ret_n_allocs);
void sample_replay_free(struct thread *t, void *block, bool is_realloc);

/* Either way, for hooks that are not in a hurry. */
static inline void sample_or_event_alloc(struct thread *t, void *block, size_t size_bytes,
                                         unsigned form, const struct unwind_regs *from) {
        if (runtime.is_sampled)
                sample_alloc(t, block, size_bytes, form, from);
        else
                event_alloc(t, block, size_bytes, form, from);
}

#pragma GCC visibility pop
