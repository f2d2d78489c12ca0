/* SPDX-License-Identifier: MIT */
#include "pipeline/lender.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/tally.h"

enum { BACK_STEP = 64 };

void lender_init(struct lender *l, const struct pipeline_calls *calls, uint32_t n_chunks,
                 uint32_t max_chunks) {
        memset(l, 0, sizeof(*l));
        l->calls = calls;
        l->n_chunks = n_chunks;
        l->max_chunks = MIN(max_chunks, n_chunks);
}

void lender_done(struct lender *l) {
        vec_free(&l->idle);
}

static void lender_back_more(struct lender *l) {
        uint32_t n = MIN(l->n_backed + BACK_STEP, l->n_chunks);

        if (l->is_dry || n == l->n_backed)
                return;
        if (l->calls->back_chunks && l->calls->back_chunks(l->calls->ctx, n) < 0) {
                l->is_dry = true;
                return;
        }
        while (n > l->n_backed)
                vec_push(&l->idle, --n);
        l->n_backed = MIN(l->n_backed + BACK_STEP, l->n_chunks);
}

bool lender_has_plenty(const struct lender *l) {
        return l->n_lent < l->max_chunks / 2 && !(l->is_dry && l->idle.n < BACK_STEP);
}

bool lender_has_spare(const struct lender *l) {
        return l->n_lent < l->max_chunks / 8 * 3 && lender_has_plenty(l);
}

static bool lender_take(struct lender *l, bool is_first, uint32_t *ret_chunk) {
        if (!is_first && l->n_lent >= l->max_chunks)
                return false;
        if (l->idle.n == 0)
                lender_back_more(l);
        if (l->idle.n == 0)
                return false;
        *ret_chunk = l->idle.items[--l->idle.n];
        l->n_lent++;
        return true;
}

/* Nobody waits any more: they may do so again, because the recorder lends. Relaxed: a bound on harm, no figure. */
static void lender_restore_patience(const struct lender *l) {
        if (l->patience && atomic_load_explicit(&l->patience->left_ns, memory_order_relaxed) == 0)
                atomic_store_explicit(&l->patience->left_ns,
                                      WIRE_PATIENCE_MAX_MS * UINT64_C(1000000),
                                      memory_order_relaxed);
}

static void lender_wake(struct wire_slot *slot) {
        /* release: whoever sees the new seq must see the new limit. Pairs with the writer's acquire of lent_seq. */
        atomic_fetch_add_explicit(&slot->lent_seq, 1, memory_order_release);
        /* seq_cst, against the writer's: it says it waits, then looks at seq */
        if (atomic_load_explicit(&slot->waiting, memory_order_seq_cst))
                syscall(SYS_futex, &slot->lent_seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void lender_fill(struct lender *l, struct ring_reader *r, struct wire_slot *slot, uint32_t want) {
        uint64_t first = r->read_pos / WIRE_CHUNK_BYTES, end = r->limit_pos / WIRE_CHUNK_BYTES;
        uint64_t old_end = end;
        uint32_t chunk;

        want = MIN(want, (uint32_t)WIRE_N_LENT);
        while (end - first < want && lender_take(l, end == first, &chunk)) {
                r->lent[end % WIRE_N_LENT] = chunk;
                /* relaxed: limit_pos publishes it */
                atomic_store_explicit(&slot->lent[end % WIRE_N_LENT], chunk, memory_order_relaxed);
                end++;
        }
        if (end == old_end)
                return;
        r->limit_pos = end * WIRE_CHUNK_BYTES;
        /* release: lent[], and the last reads of the chunks' earlier lives. Pairs with the writer's acquire. */
        atomic_store_explicit(&slot->limit_pos, r->limit_pos, memory_order_release);
        lender_restore_patience(l);
        lender_wake(slot);
}

void lender_take_back(struct lender *l, const struct ring_reader *r, uint64_t old_read_pos) {
        uint64_t end = r->read_pos / WIRE_CHUNK_BYTES;

        for (uint64_t i = old_read_pos / WIRE_CHUNK_BYTES; i < end; i++) {
                vec_push(&l->idle, r->lent[i % WIRE_N_LENT]);
                l->n_lent--;
        }
}

void lender_reset(struct lender *l, struct ring_reader *r, struct wire_slot *slot) {
        uint64_t old_read_pos = r->read_pos;

        r->read_pos = r->limit_pos;
        lender_take_back(l, r, old_read_pos);
        r->read_pos = r->limit_pos = 0;
        /* relaxed: the slot's state publishes them to its next thread */
        atomic_store_explicit(&slot->write_pos, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->limit_pos, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->busy, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->waiting, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->n_lost_events, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->blocked_ns, 0, memory_order_relaxed);
        tally_reset(slot);
}
