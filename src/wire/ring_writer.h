/* SPDX-License-Identifier: MIT */
/* The writing end of a ring: one thread's, in the target. docs/ring-protocol.md is the
 * specification.
 *  - a record is seen by the recorder whole or not at all
 *  - a full ring makes the writer wait, bounded; what is lost is counted, and said by a LOST record
 *  - a nested writer (a signal arrived inside the runtime) never waits
 * 
 * Call order: ring_writer_reserve → ring_writer_time → fill → ring_writer_commit. The words
 * between reserve and commit belong to the writer; nothing else may be reserved meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/clock.h"
#include "wire/layout.h"
#include "wire/record.h"
#include "wire/signal_point.h"
#include "wire/sys.h"

#pragma GCC visibility push(hidden)

/* What all rings of a process share. */
struct ring_clock {
        uint64_t base;            /* wire_header.clock_base */
        uint32_t kind;            /* enum wire_clock */
        uint32_t ns_per_tick_q16; /* ns = ticks * this >> 16 */
};

/* Which chunks a process has written to: its share of the arena that is resident. */
struct ring_pages {
        _Atomic(_Atomic uint32_t *) n_pages; /* wire_process.n_ring_pages */
        _Atomic uint64_t entered[WIRE_N_CHUNKS / 64], filled[WIRE_N_CHUNKS / 64];
};

struct ring_writer {
        uint64_t *next; /* where the next record goes */
        uint64_t *end;  /* no record may pass this unasked: the chunk's end or a point before it */
        uint64_t pos;   /* of next, in the stream */
        struct wire_slot *slot;
        uint64_t clock_base;
        uint64_t last_time; /* of the last record */
        uint32_t clock;     /* enum wire_clock */
        bool is_nested;

        uint64_t *chunk_end;
        uint64_t limit_pos; /* as last seen */
        uint64_t wake_pos;  /* from here on the recorder has enough to do to be woken */
        uint64_t n_lost;    /* records lost and not yet told */
        struct wire_header *header;
        uint8_t *chunks;
        const struct ring_clock *ring_clock;
        struct wire_patience *patience; /* of the recording; shared, so what it says is bounded */
        struct ring_pages *pages;       /* NULL: nobody counts */
};

/* slot: claimed by this thread. Takes up where the slot's positions are. */
/* It looks at the rings, and at what else a target may have changed. */
void ring_writer_wake_recorder(struct wire_header *header);

void ring_writer_init(struct ring_writer *w, struct wire_header *header, struct wire_slot *slot,
                      const struct ring_clock *clock, struct wire_patience *patience,
                      bool is_nested);

uint64_t *ring_writer_reserve_slow(struct ring_writer *w, uint32_t n_words);

/* The record that was just lost is no event of the program's: it does not count. */
void ring_writer_uncount_lost(struct ring_writer *w);
uint64_t ring_clock_monotonic_ns(void);

/* Room for a record, or NULL: it is lost (and counted). */
static inline uint64_t *ring_writer_reserve(struct ring_writer *w, uint32_t n_words) {
        uint64_t *words = w->next;

        if (__builtin_expect(n_words > (uint64_t)(w->end - words), 0))
                return ring_writer_reserve_slow(w, n_words);
        if (!words)
                __builtin_unreachable(); /* w->end is NULL too then */
        return words;
}

/* Says "busy" to the recorder, then reads the clock: no event with an earlier time can come from
 * a ring that was seen idle. Relaxed: the recorder allows for a store that is still on its way
 * (its margin). */
static inline uint64_t ring_writer_time(struct ring_writer *w) {
        uint64_t now;

        atomic_store_explicit(&w->slot->busy, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("ring/busy");
        if (__builtin_expect(w->clock == WIRE_CLOCK_COUNTER, 1))
                now = clock_counter();
        else
                now = ring_clock_monotonic_ns();
        now -= w->clock_base;
        w->last_time = now;
        SIGNAL_POINT("ring/time");
        return now;
}

/* words: as reserved; end: behind the last word of the record. */
static inline void ring_writer_publish(struct ring_writer *w, const uint64_t *words,
                                       uint64_t *end) {
        SIGNAL_POINT("ring/filled");
        w->pos += (uint64_t)((const uint8_t *)end - (const uint8_t *)words);
        SIGNAL_POINT("ring/moved");
        w->next = end;
        /* release: the words before the position. Pairs with the recorder's acquire of
         * write_pos. */
        atomic_store_explicit(&w->slot->write_pos, w->pos, memory_order_release);
        SIGNAL_POINT("ring/published");
        atomic_store_explicit(&w->slot->busy, 0, memory_order_release);
}

static inline void ring_writer_commit(struct ring_writer *w, uint64_t *end) {
        ring_writer_publish(w, w->next, end);
}

#pragma GCC visibility pop
