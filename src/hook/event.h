/* SPDX-License-Identifier: MIT */
/* What the hooks tell the recorder. Each writes one record into the thread's ring, or loses it,
 * counted. None touches errno or calls the program. */
#pragma once

#include "hook/thread.h"
#include "wire/record.h"

#pragma GCC visibility push(hidden)

/* from: UNWIND_HERE of the hook. form: enum wire_form. */
void event_alloc(struct thread *t, void *block, size_t size_bytes, unsigned form,
                 const struct unwind_regs *from);
/* No block came back; _told: where is told already, or cannot be told. */
void event_failed(struct thread *t, size_t size_bytes);
void event_failed_told(struct thread *t, size_t size_bytes);
void event_fail_place(struct thread *t, size_t size_bytes, const struct unwind_regs *from);

/* Around a realloc of old, which is not NULL in _begin; _done says what became of it. */
void event_realloc_begin(struct thread *t, void *old);
void event_realloc_done(struct thread *t, void *old, void *block, size_t size_bytes, unsigned form,
                        const struct unwind_regs *from);

void event_free_stack(struct thread *t, void *block, uint64_t size_bytes,
                      const struct unwind_regs *from);

/* The calling thread's. */
void event_thread_name(struct thread *t, const char *name);

/* A record of n words behind word 0, without a stack. */
void event_words(struct thread *t, unsigned kind, const uint64_t *words, uint32_t n);

/* A record of n words behind word 0, then the stack. */
void event_stack(struct thread *t, unsigned kind, const uint64_t *words, uint32_t n, unsigned form,
                 const struct unwind_regs *from);

/* unwind_env.on_module; ctx: the lane. */
void event_module(void *ctx, const struct unwind_module *module);

/* What the early arena holds, as if it happened now. */
void event_replay_early(struct thread *t);

/* Something of the last record did not reach the ring. */
void event_after_loss(struct lane *lane);

enum {
        EVENT_MAX_FAIL_PLACES =
                64, /* of a process: a program may ask for too much again and again */
        EVENT_MAX_OWN_FRAMES =
                16, /* of libsilt.so, or of the C++ library that throws, above the caller */
};
enum { EVENT_HAND_OVER_NS = 50 }; /* no block passes to another thread and back in less */

/* The clock for the release of a block. A CPU that waits for another thread's word may read its
 * counter before that word has come. The recorder puts such events right by the alternation of
 * addresses; but when the address is that of this thread's own latest allocation, which another
 * thread may have released and been given meanwhile, both orders alternate, and only a
 * counter that was read in its turn tells whose block this is. */
static inline uint64_t event_release_time(struct lane *lane, uint64_t block) {
        uint64_t now = ring_writer_time(&lane->ring);

        if (lane->last_block == block &&
            (now - lane->last_block_time) * runtime.clock.ns_per_tick_q16 >> 16 >=
                    EVENT_HAND_OVER_NS &&
            atomic_load_explicit(&runtime.process->n_threads_started, memory_order_relaxed)) {
                clock_wait_for_loads();
                now = ring_writer_time(&lane->ring);
        }
        return now;
}

/* Releases are half of all events, so this is inline. size_bytes: as the caller gave it, or
 * WIRE_NO_SIZE. */
static inline __attribute__((always_inline)) void event_free_inline(struct thread *t, void *block,
                                                                    uint64_t size_bytes) {
        struct lane *lane = lane_enter(t);
        uint32_t n = size_bytes == WIRE_NO_SIZE ? 2 : 3;
        uint64_t *words;

        if (unlikely(!lane))
                return;
        words = ring_writer_reserve(&lane->ring, n);
        if (likely(words != NULL)) {
                words[0] = wire_word0(event_release_time(lane, (uint64_t)block),
                                      n == 2 ? WIRE_FREE : WIRE_FREE_SIZED);
                words[1] = (uint64_t)block;
                if (n == 3)
                        words[2] = size_bytes;
                ring_writer_publish(&lane->ring, words, words + n);
        } else {
                event_after_loss(lane);
        }
        lane_leave(lane);
}

static inline void event_free(struct thread *t, void *block, uint64_t size_bytes) {
        event_free_inline(t, block, size_bytes);
}

#pragma GCC visibility pop
