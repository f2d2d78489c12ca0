/* SPDX-License-Identifier: MIT */
/* What pairing does beside in a recording of samples: each event tells how many blocks its block stands for. Inside
 * pairing.c only; where everything is recorded it is one test an event. */
#pragma once

#include "pipeline/pairing.h"
#include "trace/writer.h"

/* How many blocks a block stands for. */
static inline uint32_t pair_weight(const struct pair *p, uint64_t seq, uint64_t size_bytes) {
        return likely(!p->is_sampled) ? 1 : weights_of(&p->weights, seq, size_bytes);
}

static __attribute__((noinline)) void pair_say_weights(struct pair *p, uint32_t n_blocks,
                                                       const struct block *old) {
        trace_put_weights(p->book.writer, n_blocks,
                          old ? pair_weight(p, block_seq(old), block_size_bytes(old)) : 1);
}

/* The event to come releases old (NULL: nothing). */
static inline void pair_will_release(struct pair *p, const struct block *old) {
        if (unlikely(p->is_sampled))
                pair_say_weights(p, 1, old);
}

/* The event to come allocates, and maybe releases old. */
static inline void pair_will_allocate(struct pair *p, const struct pair_event *e,
                                      const struct block *old) {
        if (likely(!p->is_sampled))
                return;
        weights_note(&p->weights, p->book.next_seq, e->kind == WIRE_ALLOC ? e->mean_bytes : 0);
        pair_say_weights(p, pair_weight(p, p->book.next_seq, e->size_bytes), old);
}

/* Of a sampled thread's blocks between this one and its release only the number is known: the trace says that there were
 * some, so that this one is not taken for temporary. */
static __attribute__((noinline)) void pair_see_unsampled(struct pair *p, const struct pair_event *e,
                                                         const struct block *b) {
        struct book_latest *latest = &p->book.latest.items[e->thread];

        if (latest->seq != block_seq(b) || latest->n_thread_allocs == e->n_thread_allocs)
                return;
        latest->seq = UINT64_MAX;
        trace_put_other(p->book.writer, e->thread, p->book.now_ns, TRACE_UNSAMPLED, 0, 0, 0);
}
