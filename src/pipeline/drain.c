/* SPDX-License-Identifier: MIT */
#include "pipeline/drain.h"

#include <stdio.h>
#include <stdlib.h>

enum {
        N_SLOTS_AHEAD = 64,        /* never claimed yet, but ready with a chunk */
        N_QUEUE_WORDS_KEPT = 8192, /* an empty queue larger than this gives its memory back */
        N_CHUNKS_NESTED = 16,      /* lent to a ring whose writer never waits */
        RECORD_BYTES_TYPICAL = 32, /* for estimates of what was lost */
};

static void *drain_calloc(size_t n, size_t size_bytes) {
        void *p = calloc(n, size_bytes);

        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

void drain_init(struct drain *d, const struct drain_config *c) {
        memset(d, 0, sizeof(*d));
        d->calls = c->calls;
        d->header = c->header;
        d->shared = (struct wire_slot *)((uint8_t *)c->header + c->slot_off);
        d->chunks = (uint8_t *)c->header + c->chunk_off;
        d->n_slots = c->n_slots;
        d->n_chunks = c->n_chunks;
        d->margin = c->margin;
        d->check_interval = 5 * c->ticks_per_ms;
        d->idle_interval = 2000 * c->ticks_per_ms;
        d->slots = drain_calloc(c->n_slots, sizeof(d->slots[0]));
        lender_init(&d->lender, c->calls, c->n_chunks, c->max_chunks);
        d->lender.patience = &c->header->patience;
}

void drain_done(struct drain *d) {
        for (uint32_t i = 0; d->slots && i < d->n_slots; i++)
                if (d->slots[i]) {
                        free(d->slots[i]->words);
                        callpath_done(&d->slots[i]->path);
                        vec_free(&d->slots[i]->tokens);
                        free(d->slots[i]);
                }
        free(d->slots);
        vec_free(&d->active);
        lender_done(&d->lender);
}

static struct slot *drain_get_slot(struct drain *d, uint32_t no) {
        struct slot *s = d->slots[no];

        if (s)
                return s;
        s = d->slots[no] = drain_calloc(1, sizeof(*s));
        s->no = no;
        s->shared = &d->shared[no];
        s->ring = (struct ring_reader){.slot = s->shared,
                                       .chunks = d->chunks,
                                       .n_chunks = d->n_chunks};
        s->heap_idx = UINT32_MAX;
        s->n_want = 1;
        return s;
}

/* ---- finding ------------------------------------------------------------------------------------ */

static void drain_use_slot(struct drain *d, struct slot *s, uint64_t state, uint64_t now) {
        s->is_used = true;
        s->claim = state >> 8;
        s->process_idx = wire_slot_process(state);
        /* nobody had it when it was last looked at; since then its thread may have read the clock for a record that is
         * still under way */
        s->mark = d->scan_time > d->margin ? d->scan_time - d->margin : 0;
        s->last_time = 0;
        s->exec_end_pos = 0;
        s->progress_time = now;
        s->check_time = now + d->check_interval;
        s->idle_wait = 4 * d->check_interval;
        s->head_pos = s->ring.read_pos;
        vec_push(&d->active, s);
}

/* A free slot has a chunk before a thread comes, so that it need not wait. Never the last ones: threads that live would
 * wait for what nobody uses, or their rings would not grow. */
static void drain_lend_ahead(struct drain *d, struct slot *s) {
        if (lender_has_spare(&d->lender))
                lender_fill(&d->lender, &s->ring, s->shared, 1);
}

static void drain_look(struct drain *d, uint32_t no, uint64_t now) {
        /* acquire: the fields the claimer filled. Pairs with its release of LIVE. */
        uint64_t state = atomic_load_explicit(&d->shared[no].state, memory_order_acquire);
        uint32_t phase = wire_slot_phase(state);
        struct slot *s = drain_get_slot(d, no);

        if (phase == WIRE_SLOT_FREE) {
                if (!s->is_used)
                        drain_lend_ahead(d, s);
                else if (!s->is_broken)
                        drain_break(d, s, "its slot was set free by the target");
                return;
        }
        if (!s->is_used)
                drain_use_slot(d, s, state, now);
        if (s->claim != state >> 8 && !s->is_broken)
                drain_break(d, s, "its slot changed hands");
        if (!s->is_live && phase != WIRE_SLOT_CLAIMED) {
                s->is_live = true;
                s->tid = s->shared->tid;
                /* its writer never waits: it needs room for as long as this process may be held up */
                if (s->shared->flags & WIRE_SLOT_NESTED)
                        s->n_want = MIN((uint32_t)N_CHUNKS_NESTED, (uint32_t)WIRE_N_LENT);
        }
        if (phase == WIRE_SLOT_EXITING && s->check_time > now + d->check_interval)
                s->check_time = now;
}

void drain_scan(struct drain *d, uint64_t now) {
        uint32_t n = atomic_load_explicit(&d->header->n_slots_used, memory_order_acquire);

        if (n > d->n_slots)
                n = d->n_slots;
        if (n > d->n_slots_used)
                d->n_slots_used = n;
        for (uint32_t i = 0; i < d->n_slots_used; i++)
                drain_look(d, i, now);
        /* those never claimed cost a look only until they have their chunk */
        for (uint32_t i = d->n_slots_used; i < MIN(d->n_slots_used + N_SLOTS_AHEAD, d->n_slots);
             i++)
                if (!d->slots[i] || d->slots[i]->ring.limit_pos == 0)
                        drain_look(d, i, now);
        d->scan_time = now;
}

/* ---- copying ------------------------------------------------------------------------------------ */

static void drain_make_room(struct drain *d, struct slot *s, size_t n_words) {
        size_t cap = s->cap;

        if (s->head > 0 && (s->head == s->tail || s->tail + n_words > s->cap)) {
                memmove(s->words, s->words + s->head, slot_n_words(s) * 8);
                s->tail -= s->head;
                s->head = 0;
        }
        s->words = vec_grow(s->words, &s->cap, s->tail + n_words, 8);
        d->queue_bytes += (s->cap - cap) * 8;
}

/* A ring that uses more than half of what it has gets twice as much, as long as there is plenty. */
static void drain_lend(struct drain *d, struct slot *s, uint64_t available) {
        uint64_t lent = s->ring.limit_pos - s->ring.read_pos + available;

        if (available * 2 > lent && s->n_want < WIRE_N_LENT && lender_has_plenty(&d->lender))
                s->n_want *= 2;
        else if (s->n_want > 1 && available * 8 < lent && d->lender.n_lent >= d->lender.max_chunks)
                s->n_want /= 2;
        lender_fill(&d->lender, &s->ring, s->shared, s->n_want);
}

/* A thread that writes nothing, or said it ends: is it still there? What it wrote last is read after the answer. Most
 * threads live for a moment or for long: the older one is, the more seldom it is asked for. */
void drain_check_thread(struct drain *d, struct slot *s, uint64_t now, uint32_t pid) {
        /* thousands of short threads: those that are gone hold the chunks that new ones wait for */
        uint64_t idle_interval =
                lender_has_plenty(&d->lender) ? s->idle_wait : 4 * d->check_interval;
        bool exits =
                wire_slot_phase(atomic_load_explicit(&s->shared->state, memory_order_relaxed)) ==
                WIRE_SLOT_EXITING;

        if (!s->is_live || !d->calls->is_thread_alive || pid == 0 ||
            now < MIN(s->check_time, s->progress_time + idle_interval))
                return;
        if (!exits && now - s->progress_time < idle_interval)
                s->check_time = s->progress_time + idle_interval;
        else if (!d->calls->is_thread_alive(d->calls->ctx, pid, s->tid))
                s->is_dead = true;
        else {
                s->progress_time = now; /* it lives: as good as a record */
                s->idle_wait = MIN(2 * s->idle_wait, d->idle_interval);
                s->check_time = now + (exits ? d->check_interval : idle_interval);
        }
}

bool drain_slot(struct drain *d, struct slot *s, uint64_t now, size_t max_words) {
        uint64_t old_read_pos = s->ring.read_pos;
        bool was_dead = s->is_dead;
        /* acquire, and before write_pos: a thread seen idle publishes nothing older than `now` later, but for the
         * time a store takes. Pairs with the writer's release of busy. */
        bool is_busy = atomic_load_explicit(&s->shared->busy, memory_order_acquire);
        int64_t available;
        size_t n;

        if (!s->is_live && !was_dead)
                return false;
        available = ring_reader_available(&s->ring);
        if (available < 0) {
                drain_break(d, s, "its position is impossible");
                return false;
        }
        if (available > 0) {
                size_t want = MIN((size_t)available / 8, MAX(max_words, (size_t)RING_CHUNK_WORDS));

                drain_make_room(d, s, want);
                n = ring_reader_copy(&s->ring, s->words + s->tail, want, (uint64_t)available);
                s->tail += n;
                d->pending_bytes += n * 8;
                lender_take_back(&d->lender, &s->ring, old_read_pos);
                s->progress_time = now;
                s->is_passed_over = false;
        }
        if (!was_dead)
                drain_lend(d, s, (uint64_t)available);

        if (s->ring.read_pos - old_read_pos == (uint64_t)available) {
                if (!is_busy) {
                        s->mark = MAX(s->mark, now > d->margin ? now - d->margin : 0);
                        s->is_passed_over = false;
                }
                s->is_drained = was_dead;
        }
        return available > 0;
}

void drain_trim(struct drain *d, struct slot *s) {
        if (s->head == s->tail && s->cap > N_QUEUE_WORDS_KEPT && d->active.n > 64) {
                d->queue_bytes -= s->cap * 8;
                free(s->words);
                s->words = NULL;
                s->cap = 0;
        }
}

/* ---- ends --------------------------------------------------------------------------------------- */

void drain_break(struct drain *d, struct slot *s, const char *what) {
        s->n_lost += 1 + slot_n_words(s) * 8 / RECORD_BYTES_TYPICAL;
        if (!s->is_broken) {
                s->is_broken = true;
                d->n_broken++;
                if (d->calls->on_broken)
                        d->calls->on_broken(d->calls->ctx, s->process_idx, s->tid, what);
        }
        drain_consume(d, s, slot_n_words(s));
}

void drain_discard(struct drain *d, struct slot *s) {
        int64_t available = ring_reader_available(&s->ring);
        uint64_t old_read_pos = s->ring.read_pos;
        bool was_dead = s->is_dead;

        if (available > 0) {
                s->n_lost += 1 + (uint64_t)available / RECORD_BYTES_TYPICAL;
                s->ring.read_pos += (uint64_t)available;
                lender_take_back(&d->lender, &s->ring, old_read_pos);
        }
        if (!was_dead)
                lender_fill(&d->lender, &s->ring, s->shared, 1);
        s->head_pos = s->ring.read_pos;
        s->is_drained = was_dead;
}

void drain_free_slot(struct drain *d, struct slot *s) {
        uint64_t state = atomic_load_explicit(&s->shared->state, memory_order_relaxed);
        struct slot old = *s;

        for (size_t i = 0; i < d->active.n; i++)
                if (d->active.items[i] == s) {
                        d->active.items[i] = d->active.items[--d->active.n];
                        break;
                }
        lender_reset(&d->lender, &s->ring, s->shared);
        old.ring = s->ring;
        *s = (struct slot){.shared = old.shared,
                           .ring = old.ring,
                           .no = old.no,
                           .heap_idx = UINT32_MAX,
                           .n_want = 1,
                           .words = old.words,
                           .cap = old.cap,
                           .path = old.path};
        callpath_clear(&s->path);
        vec_free(&old.tokens);
        drain_lend_ahead(d, s);
        /* release: the positions and the first chunk. Pairs with the acquire of the claim. */
        atomic_store_explicit(&s->shared->state, ((state >> 40) + 1) << 40, memory_order_release);
}
