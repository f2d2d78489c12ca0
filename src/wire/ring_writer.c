/* SPDX-License-Identifier: MIT */
/* The rare steps of a ring's writer: the next chunk, waking the recorder, waiting, losing. */
#include "wire/ring_writer.h"

#include <limits.h>
#include <time.h>

uint64_t ring_clock_monotonic_ns(void) {
        struct sys_timespec now = {0};

        sys_clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.sec * 1000000000u + (uint64_t)now.nsec;
}

/* The recorder sets `asleep`, then looks at all rings once more, then sleeps while `wake` is
 * unchanged: so whoever changes a ring first and looks at `asleep` after it wakes it or is seen. */
void ring_writer_wake_recorder(struct wire_header *header) {
        atomic_fetch_add_explicit(&header->wake, 1, memory_order_seq_cst);
        if (atomic_load_explicit(&header->asleep, memory_order_seq_cst) &&
            atomic_exchange_explicit(&header->asleep, 0, memory_order_seq_cst))
                sys_futex_wake((void *)&header->wake, INT_MAX);
}

void ring_writer_init(struct ring_writer *w, struct wire_header *header, struct wire_slot *slot,
                      const struct ring_clock *clock, struct wire_patience *patience,
                      bool is_nested) {
        *w = (struct ring_writer){
                .pos = atomic_load_explicit(&slot->write_pos, memory_order_relaxed),
                .slot = slot,
                .clock_base = clock->base,
                .clock = clock->kind,
                .is_nested = is_nested,
                .wake_pos = UINT64_MAX,
                .header = header,
                .chunks = (uint8_t *)header + header->chunk_off,
                .ring_clock = clock,
                .patience = patience,
        };
}

static uint64_t ring_writer_ticks(const struct ring_writer *w) {
        return w->clock == WIRE_CLOCK_COUNTER ? clock_counter() : ring_clock_monotonic_ns();
}

static uint64_t ring_writer_ns(const struct ring_writer *w, uint64_t ticks) {
        return ticks * w->ring_clock->ns_per_tick_q16 >> 16;
}

static uint64_t ring_writer_ns_since(const struct ring_writer *w, uint64_t ticks) {
        return ring_writer_ns(w, ring_writer_ticks(w) - ticks);
}

/* acquire: lent[] and the recorder's last reads of the chunk before its new life. Pairs with the
 * recorder's release of limit_pos. */
static void ring_writer_see_limit(struct ring_writer *w) {
        uint64_t limit = atomic_load_explicit(&w->slot->limit_pos, memory_order_acquire);

        if (limit == w->limit_pos)
                return;
        w->limit_pos = limit;
        w->wake_pos = limit > w->pos ? w->pos + (limit - w->pos) / 2 : w->pos;
}

/* Half of what is lent is written: enough work for one waking. */
static void ring_writer_wake_at_half(struct ring_writer *w) {
        if (w->pos < w->wake_pos)
                return;
        w->wake_pos = UINT64_MAX;
        if (atomic_load_explicit(&w->header->asleep, memory_order_relaxed))
                ring_writer_wake_recorder(w->header);
}

/* The point where reserve must ask again. */
static void ring_writer_set_end(struct ring_writer *w) {
        uint64_t ahead = w->wake_pos > w->pos ? (w->wake_pos - w->pos) / 8 : 0;

        w->end = w->chunk_end;
        if (ahead && ahead < (uint64_t)(w->chunk_end - w->next))
                w->end = w->next + ahead;
}

/* Relaxed: a figure for the report. The first page counts when a chunk is entered, the others when
 * it is full. */
static void ring_writer_count_pages(const struct ring_writer *w, const uint8_t *chunk,
                                    _Atomic uint64_t *seen, uint32_t n_pages) {
        uint64_t idx = (uint64_t)(chunk - w->chunks) / WIRE_CHUNK_BYTES;
        uint64_t bit = UINT64_C(1) << idx % 64;

        if (!(atomic_load_explicit(&seen[idx / 64], memory_order_relaxed) & bit) &&
            !(atomic_fetch_or_explicit(&seen[idx / 64], bit, memory_order_relaxed) & bit))
                atomic_fetch_add_explicit(atomic_load_explicit(&w->pages->n_pages,
                                                               memory_order_relaxed),
                                          n_pages, memory_order_relaxed);
}

/* Leaves the chunk at its end: what is left of it is padding. */
static void ring_writer_leave_chunk(struct ring_writer *w) {
        if (!w->chunk_end)
                return;
        SIGNAL_POINT("chunk/leave");
        if (w->pages)
                ring_writer_count_pages(w, (uint8_t *)w->chunk_end - WIRE_CHUNK_BYTES,
                                        w->pages->filled, WIRE_CHUNK_BYTES / WIRE_PAGE_BYTES - 1);
        if (w->next < w->chunk_end)
                *w->next = wire_word0(0, WIRE_PAD);
        w->pos += (uint64_t)((uint8_t *)w->chunk_end - (uint8_t *)w->next);
        SIGNAL_POINT("chunk/padded");
        w->next = w->end = w->chunk_end = NULL;
        SIGNAL_POINT("chunk/none");
        /* release: the padding before the position. Pairs with the recorder's acquire of
         * write_pos. */
        atomic_store_explicit(&w->slot->write_pos, w->pos, memory_order_release);
}

static bool ring_writer_enter_chunk(struct ring_writer *w) {
        uint64_t off = w->pos % WIRE_CHUNK_BYTES, idx;
        uint8_t *chunk;

        ring_writer_see_limit(w);
        if (w->pos - off + WIRE_CHUNK_BYTES > w->limit_pos)
                return false;
        idx = atomic_load_explicit(&w->slot->lent[w->pos / WIRE_CHUNK_BYTES % WIRE_N_LENT],
                                   memory_order_relaxed);
        if (idx >= WIRE_N_CHUNKS)
                return false;
        chunk = w->chunks + idx * WIRE_CHUNK_BYTES;
        w->next = (uint64_t *)(chunk + off);
        SIGNAL_POINT("chunk/next");
        w->chunk_end = (uint64_t *)(chunk + WIRE_CHUNK_BYTES);
        if (w->pages)
                ring_writer_count_pages(w, chunk, w->pages->entered, 1);
        return true;
}

/* The part of a wait that no other thread's wait covered, of any process: two thousand threads that
 * wait for one second have cost the program one second. */
static uint64_t ring_writer_uncharged_ns(struct ring_writer *w, uint64_t begin, uint64_t end) {
        uint64_t from = atomic_load_explicit(&w->patience->charged_until, memory_order_relaxed);

        if (from > end && ring_writer_ns(w, from - end) > WIRE_WAIT_MAX_MS * UINT64_C(1000000))
                from = begin; /* nobody's wait lies that far ahead: somebody wrote over it */
        if (from < begin)
                from = begin;
        if (from >= end)
                return 0;
        atomic_store_explicit(&w->patience->charged_until, end, memory_order_relaxed);
        return ring_writer_ns(w, end - from);
}

/* A recorder that lends within a moment is only pushing back: the program goes on without loss
 * however long it lasts. Slow answers and none at all add up, until nobody waits; then the
 * recorder restores the patience when it lends again. */
static void ring_writer_restore_patience(struct ring_writer *w) {
        atomic_store_explicit(&w->patience->left_ns, WIRE_PATIENCE_MAX_MS * UINT64_C(1000000),
                              memory_order_relaxed);
}

static void ring_writer_spend(struct ring_writer *w, bool ok, uint64_t begin, uint64_t end) {
        uint64_t left_ns = atomic_load_explicit(&w->patience->left_ns, memory_order_relaxed);
        uint64_t spent_ns = ring_writer_uncharged_ns(w, begin, end);
        const uint64_t max_ns = WIRE_PATIENCE_MAX_MS * UINT64_C(1000000);

        if (left_ns > max_ns)
                left_ns = max_ns;
        if (ok && ring_writer_ns(w, end - begin) <= WIRE_PUSHBACK_MAX_MS * UINT64_C(1000000))
                ring_writer_restore_patience(w);
        else /* Relaxed, and two threads may overwrite each other: a bound on harm, not a figure. */
                atomic_store_explicit(&w->patience->left_ns,
                                      left_ns > spent_ns ? left_ns - spent_ns : 0,
                                      memory_order_relaxed);
}

/* Sleeps until a chunk is lent; at most a second, and five in all for the recording unless the
 * recorder keeps up. */
static bool ring_writer_wait(struct ring_writer *w) {
        uint64_t patience_ns = atomic_load_explicit(&w->patience->left_ns, memory_order_relaxed);
        uint64_t max_ns = WIRE_WAIT_MAX_MS * UINT64_C(1000000), spent_ns = 0;
        uint64_t begin, end;
        bool ok = false;

        if (patience_ns == 0)
                return false;
        if (max_ns > patience_ns)
                max_ns = patience_ns;
        begin = ring_writer_ticks(w);
        atomic_store_explicit(&w->slot->waiting, 1, memory_order_seq_cst);
        SIGNAL_POINT("ring/wait");
        for (;;) {
                /* acquire: seq before limit_pos, so that a chunk lent after this look changes
                 * seq */
                uint32_t seq = atomic_load_explicit(&w->slot->lent_seq, memory_order_acquire);
                struct sys_timespec left;

                if ((ok = ring_writer_enter_chunk(w)) ||
                    !atomic_load_explicit(&w->header->recording, memory_order_acquire))
                        break;
                spent_ns = ring_writer_ns_since(w, begin);
                if (spent_ns >= max_ns)
                        break;
                ring_writer_wake_recorder(w->header);
                left.sec = (int64_t)((max_ns - spent_ns) / 1000000000u);
                left.nsec = (int64_t)((max_ns - spent_ns) % 1000000000u);
                sys_futex_wait((void *)&w->slot->lent_seq, seq, &left);
        }
        SIGNAL_POINT("ring/waited");
        atomic_store_explicit(&w->slot->waiting, 0, memory_order_relaxed);

        end = ring_writer_ticks(w);
        atomic_store_explicit(&w->slot->blocked_ns,
                              atomic_load_explicit(&w->slot->blocked_ns, memory_order_relaxed) +
                                      ring_writer_ns(w, end - begin),
                              memory_order_relaxed);
        ring_writer_spend(w, ok, begin, end);
        return ok;
}

static uint64_t *ring_writer_lose(struct ring_writer *w) {
        uint64_t n_lost = atomic_load_explicit(&w->slot->n_lost_events, memory_order_relaxed);

        SIGNAL_POINT("ring/lose");
        w->n_lost++;
        /* once recording is over, what is not written is no part of it */
        if (atomic_load_explicit(&w->header->recording, memory_order_relaxed))
                atomic_store_explicit(&w->slot->n_lost_events, n_lost + 1, memory_order_relaxed);
        w->end = w->next; /* the next record asks again, and says LOST first */
        return NULL;
}

void ring_writer_uncount_lost(struct ring_writer *w) {
        uint64_t n_lost = atomic_load_explicit(&w->slot->n_lost_events, memory_order_relaxed);

        w->n_lost--;
        atomic_store_explicit(&w->slot->n_lost_events, n_lost - 1, memory_order_relaxed);
}

/* A chunk with room for n_words from w->next on. */
static bool ring_writer_find_room(struct ring_writer *w, uint32_t n_words) {
        bool may_wait = !w->is_nested && !(w->header->flags & WIRE_LOSSY);

        if (w->chunk_end && n_words <= (uint64_t)(w->chunk_end - w->next)) {
                ring_writer_see_limit(w);
                return true;
        }
        if (n_words > WIRE_CHUNK_BYTES / 8 ||
            !atomic_load_explicit(&w->header->recording, memory_order_relaxed))
                return false;
        ring_writer_leave_chunk(w);
        if (ring_writer_enter_chunk(w) || (may_wait && ring_writer_wait(w)))
                return n_words <= (uint64_t)(w->chunk_end - w->next) ||
                       ring_writer_find_room(w, n_words);
        return false;
}

uint64_t *ring_writer_reserve_slow(struct ring_writer *w, uint32_t n_words) {
        if (w->n_lost) {
                uint64_t *words;

                if (!ring_writer_find_room(w, 2))
                        return ring_writer_lose(w);
                words = w->next;
                SIGNAL_POINT("ring/tell-lost");
                words[0] = wire_word0(ring_writer_time(w), WIRE_LOST);
                words[1] = w->n_lost;
                w->n_lost = 0;
                ring_writer_commit(w, words + 2);
        }
        if (!ring_writer_find_room(w, n_words))
                return ring_writer_lose(w);
        SIGNAL_POINT("ring/room");
        ring_writer_wake_at_half(w);
        ring_writer_set_end(w);
        if (n_words > (uint64_t)(w->end - w->next))
                w->end = w->chunk_end; /* the point of checking falls into this record */
        return w->next;
}
