/* SPDX-License-Identifier: MIT */
#include "pipeline/pairing.h"

#include "pipeline/block_residency.h"
#include "pipeline/heaps.h"
#include "pipeline/pairing_prior.h"
#include "pipeline/pairing_sample.h"
#include "pipeline/released.h"
#include "trace/writer.h"
#include "wire/record.h"

enum { MAX_HELD = 128 }; /* more at once means events were lost, not swapped */

void pair_init(struct pair *p, struct trace_writer *w, struct sites *s) {
        memset(p, 0, sizeof(*p));
        book_init(&p->book, w, s);
}

void pair_done(struct pair *p) {
        weights_done(&p->weights);
        book_done(&p->book);
        vec_free(&p->held);
        vec_free(&p->moving);
        vec_free(&p->bulks);
}

/* ---- what an event does, once it is its turn ---------------------------------------------------- */

static struct trace_counts *pair_counts(struct pair *p, const struct process *process) {
        return sites_counts(p->book.sites, process->figures, p->book.now_ns);
}

/* The figures of a block's release by thread. */
static inline __attribute__((always_inline)) void pair_release(struct pair *p,
                                                               const struct process *process,
                                                               const struct block *b,
                                                               uint32_t thread) {
        book_release(&p->book, process->figures, b, thread,
                     pair_weight(p, block_seq(b), block_size_bytes(b)));
}

static __attribute__((noinline)) void pair_note_large(const struct pair_event *e, uint64_t seq) {
        struct residency_birth birth = {.address = e->address,
                                        .seq = seq,
                                        .size_bytes = e->size_bytes,
                                        .process = e->process->trace_id,
                                        .stack = e->stack};

        /* the pages of a pool are those of the block it lies in */
        if (!(e->address & WIRE_POOL))
                residency_note(&e->process->residency, &e->process->live, &birth);
}

/* A large block may have been a mapping of its own, which is gone now. */
static void pair_note_released(const struct pair_event *e, uint64_t address,
                               const struct block *b) {
        struct released *r = e->process->released;

        if (unlikely(r != NULL) && block_size_bytes(b) >= TRACE_LARGE_BLOCK_BYTES &&
            !(address & WIRE_POOL))
                released_add(r, address, address + block_size_bytes(b));
}

static uint64_t pair_told_address(const struct pair *p, const struct pair_event *e) {
        return p->addresses ? e->address & WIRE_ADDRESS_MASK : 0;
}

/* Takes the block away if it is the one with this number. */
static bool pair_take(struct process *process, uint64_t address, uint64_t seq, struct block *ret) {
        return live_find(&process->live, address, ret) && block_seq(ret) == seq &&
               live_take(&process->live, address, ret);
}

static void pair_put_free(struct pair *p, const struct process *process, const struct block *b,
                          uint32_t thread, uint32_t free_stack) {
        pair_will_release(p, b);
        trace_put_free(p->book.writer, thread, p->book.now_ns, block_seq(b),
                       book_stack(&p->book, b), block_size_bytes(b), free_stack);
        pair_release(p, process, b, thread);
}

/* The heap may have been released while the event waited. */
static __attribute__((noinline)) void pair_note_heap(struct pair *p, const struct pair_event *e,
                                                     uint64_t seq) {
        struct block b;

        if (heaps_add(e->process->heaps, e->heap, e->address, seq) == HEAPS_RELEASED &&
            pair_take(e->process, e->address, seq, &b))
                pair_put_free(p, e->process, &b, e->thread, 0);
}

static void pair_allocate(struct pair *p, const struct pair_event *e, struct block *b, uint64_t seq,
                          bool is_realloc) {
        book_allocate(&p->book, e->process->figures, b,
                      &(struct book_birth){
                              .seq = seq,
                              .size_bytes = e->size_bytes,
                              .site = e->site,
                              .thread = e->thread,
                              .n_blocks = pair_weight(p, seq, e->size_bytes),
                              .n_thread_allocs = e->n_thread_allocs,
                              .is_complete = e->is_complete,
                              .is_realloc = is_realloc,
                      });
        if (unlikely(e->size_bytes >= TRACE_LARGE_BLOCK_BYTES) && !p->is_sampled)
                pair_note_large(e, seq);
        if (unlikely(e->heap))
                pair_note_heap(p, e, seq);
}

/* An allocation by another thread, or by a signal handler that interrupted the realloc in its last steps, proves that
 * the realloc under way has released its old block. */
static bool pair_release_moved(struct pair *p, const struct pair_event *e) {
        for (size_t i = 0; i < p->moving.n; i++) {
                struct pair_moving *m = &p->moving.items[i];
                struct block old;

                if (m->address != e->address || m->process != e->process || m->is_released)
                        continue;
                if (!live_take(&e->process->live, e->address, &old))
                        return false;
                m->is_released = true;
                pair_note_released(e, e->address, &old);
                pair_put_free(p, e->process, &old, m->thread, 0);
                return true;
        }
        return false;
}

/* Of a heap that is being released. */
static bool pair_release_bulk(struct pair *p, const struct pair_event *e) {
        struct block old;

        for (size_t i = 0; i < p->bulks.n; i++) {
                const struct pair_bulk *bulk = &p->bulks.items[i];

                if (bulk->process != e->process || !bulk->heap ||
                    !live_find(&e->process->live, e->address, &old) ||
                    heaps_of(e->process->heaps, e->address, block_seq(&old)) != bulk->heap)
                        continue;
                live_take(&e->process->live, e->address, &old);
                pair_put_free(p, e->process, &old, bulk->thread, 0);
                return true;
        }
        return false;
}

static bool pair_release_proven(struct pair *p, const struct pair_event *e) {
        return pair_release_moved(p, e) || pair_release_bulk(p, e);
}

static bool pair_try_alloc(struct pair *p, const struct pair_event *e, bool is_realloc) {
        struct block *b = live_add(&e->process->live, e->address);
        uint64_t seq;

        if (unlikely(!b)) {
                if (!pair_release_proven(p, e))
                        return false;
                b = live_add(&e->process->live, e->address);
                if (!b)
                        return false;
        }
        pair_will_allocate(p, e, NULL);
        seq = trace_put_alloc(p->book.writer, e->thread, p->book.now_ns, e->stack, e->size_bytes,
                              pair_told_address(p, e));
        pair_allocate(p, e, b, seq, is_realloc);
        return true;
}

/* A block in another thread's realloc is released by its end, or not at all before it. */
static bool pair_is_moving(const struct pair *p, const struct pair_event *e, uint64_t address) {
        for (size_t i = 0; i < p->moving.n; i++) {
                const struct pair_moving *m = &p->moving.items[i];

                if (m->address == address && m->process == e->process && m->slot_no != e->slot_no &&
                    !m->is_released)
                        return true;
        }
        return false;
}

static void pair_finish_free(struct pair *p, const struct pair_event *e, const struct block *b) {
        if (unlikely(p->is_sampled))
                pair_see_unsampled(p, e, b);
        pair_put_free(p, e->process, b, e->thread, e->kind == WIRE_FREE_STACK ? e->stack : 0);
        if ((e->kind == WIRE_FREE_SIZED || e->kind == WIRE_FREE_STACK) &&
            e->size_bytes != WIRE_NO_SIZE && e->size_bytes != block_size_bytes(b)) {
                pair_counts(p, e->process)->n_wrong_sizes++;
                trace_put_other(p->book.writer, e->thread, p->book.now_ns, TRACE_WRONG_SIZE,
                                e->size_bytes, 0, 0);
        }
}

static bool pair_free_now(struct pair *p, const struct pair_event *e, uint64_t address) {
        struct block b;

        if (unlikely(!live_take(&e->process->live, address, &b)))
                return false;
        pair_note_released(e, address, &b);
        pair_finish_free(p, e, &b);
        return true;
}

static bool pair_try_free(struct pair *p, const struct pair_event *e, uint64_t address) {
        if (unlikely(p->moving.n > 0) && pair_is_moving(p, e, address))
                return false;
        return pair_free_now(p, e, address);
}

/* Old and new block, or NULL with nothing changed. */
static struct block *pair_swap_blocks(struct pair *p, const struct pair_event *e,
                                      struct block *ret_old) {
        struct live *l = &e->process->live;
        struct block *b;
        uint16_t bits;

        if (e->old_address == e->address) {
                b = live_edit(l, e->address);
                if (b)
                        *ret_old = *b;
                return b;
        }
        if (!live_take(l, e->old_address, ret_old))
                return NULL;
        b = live_add(l, e->address);
        if (!b && pair_release_proven(p, e))
                b = live_add(l, e->address);
        if (b)
                return b;
        b = live_add(l, e->old_address);
        bits = b->bits;
        block_copy(b, ret_old);
        b->bits = bits;
        return NULL;
}

/* A block that stays where it is stays in its heap. */
static void pair_stay_in_heap(struct pair *p, const struct pair_event *e, uint64_t old_seq,
                              uint64_t seq) {
        struct pair_event in_heap = *e;

        in_heap.heap = heaps_of(e->process->heaps, e->address, old_seq);
        if (in_heap.heap)
                pair_note_heap(p, &in_heap, seq);
}

static bool pair_try_realloc(struct pair *p, const struct pair_event *e) {
        struct block old, *b;
        uint64_t seq;

        if (e->result == WIRE_REALLOC_RELEASED)
                return pair_try_free(p, e, e->old_address);
        if (e->old != PAIR_OLD_BLOCK)
                return pair_try_alloc(p, e, e->old == PAIR_OLD_RELEASED);
        b = pair_swap_blocks(p, e, &old);
        if (!b)
                return false;
        pair_note_released(e, e->old_address, &old);
        pair_will_allocate(p, e, &old);
        seq = trace_put_realloc(p->book.writer, e->thread, p->book.now_ns, block_seq(&old),
                                book_stack(&p->book, &old), block_size_bytes(&old), e->stack,
                                e->size_bytes, pair_told_address(p, e));
        book_begin_realloc(&p->book, e->thread);
        pair_release(p, e->process, &old, e->thread);
        pair_allocate(p, e, b, seq, true);
        book_end_realloc(&p->book,
                         &(struct book_birth){.size_bytes = e->size_bytes,
                                              .site = e->site,
                                              .thread = e->thread},
                         block_size_bytes(&old), e->address == e->old_address);
        if (unlikely(e->process->heaps != NULL) && !e->heap && e->address == e->old_address)
                pair_stay_in_heap(p, e, block_seq(&old), seq);
        return true;
}

static bool pair_try(struct pair *p, const struct pair_event *e) {
        switch (e->kind) {
        case WIRE_ALLOC: return pair_try_alloc(p, e, false);
        case WIRE_REALLOC_END: return pair_try_realloc(p, e);
        default: return pair_try_free(p, e, e->address);
        }
}

/* ---- events that wait --------------------------------------------------------------------------- */

static bool pair_is_awaited(const struct pair *p, const struct pair_event *e) {
        for (size_t i = 0; i < p->held.n; i++)
                if (events_collide(&p->held.items[i].event, e))
                        return true;
        return false;
}

/* An event of the same thread and address is held: its turn comes first. */
static bool pair_awaits_thread(const struct pair *p, const struct pair_event *e) {
        for (size_t i = 0; i < p->held.n; i++)
                if (p->held.items[i].event.thread == e->thread &&
                    events_collide(&p->held.items[i].event, e))
                        return true;
        return false;
}

/* The same for one that is held itself. */
static bool pair_is_behind(const struct pair *p, size_t idx) {
        const struct pair_event *e = &p->held.items[idx].event;

        for (size_t i = 0; i < idx; i++)
                if (p->held.items[i].event.thread == e->thread &&
                    events_collide(&p->held.items[i].event, e))
                        return true;
        return false;
}

static struct pair_event pair_unhold(struct pair *p, size_t idx) {
        struct pair_event e = p->held.items[idx].event;

        memmove(&p->held.items[idx], &p->held.items[idx + 1],
                (p->held.n - idx - 1) * sizeof(p->held.items[0]));
        p->held.n--;
        return e;
}

/* Lets every held event go whose turn it is now. */
static void pair_resolve(struct pair *p, const struct pair_event *about) {
        for (size_t i = 0; i < p->held.n;) {
                struct pair_event *e = &p->held.items[i].event;

                if (!events_collide(e, about) || pair_is_behind(p, i) || !pair_try(p, e)) {
                        i++;
                        continue;
                }
                if (!p->held.items[i].is_new) {
                        pair_counts(p, e->process)->n_inversions++;
                        p->n_inversions++;
                }
                pair_unhold(p, i);
                i = 0;
        }
}

static void pair_count_unknown(struct pair *p, const struct pair_event *e) {
        struct trace_counts *c;

        if (e->process->heaps && heaps_take_record(e->process->heaps, e->address))
                return;
        c = pair_counts(p, e->process);
        if (p->prior)
                c->n_prior_frees++;
        else
                c->n_unknown_frees++;
        trace_put_other(p->book.writer, e->thread, p->book.now_ns,
                        p->prior ? TRACE_PRIOR_FREE : TRACE_UNKNOWN_FREE, 0, 0, 0);
}

/* The release that must have been: the address was handed out again. */
static void pair_free_implicitly(struct pair *p, const struct pair_event *e) {
        struct block b;

        if (!live_take(&e->process->live, e->address, &b))
                return;
        pair_will_release(p, &b);
        book_release_implicitly(&p->book, e->process->figures, &b, e->thread,
                                pair_weight(p, block_seq(&b), block_size_bytes(&b)));
}

/* An allocation that cannot be, its own thread's release right behind it, and an address that was handed out to
 * another thread only just now: that one came too early, the two belong before it. Their block is never in the table. */
static bool pair_pass_by(struct pair *p, const struct pair_event *e) {
        struct block b;
        size_t i;

        if (e->kind != WIRE_ALLOC || !live_find(&e->process->live, e->address, &b) ||
            book_age_us(&p->book, &b) > (p->book.now_ns - e->time_ns + p->skew_ns) / 1000 + 1)
                return false;
        /* events of one thread are in order: its own block was released behind everyone's back */
        if (e->process->n_threads < 2 || p->book.latest.items[e->thread].seq == block_seq(&b))
                return false;
        for (i = 0; i < p->held.n; i++)
                if (p->held.items[i].event.thread == e->thread &&
                    events_collide(&p->held.items[i].event, e))
                        break;
        if (i == p->held.n || !event_is_release(&p->held.items[i].event))
                return false;
        b = (struct block){.address = e->address};
        pair_will_allocate(p, e, NULL);
        pair_allocate(p, e, &b,
                      trace_put_alloc(p->book.writer, e->thread, p->book.now_ns, e->stack,
                                      e->size_bytes, pair_told_address(p, e)),
                      false);
        pair_finish_free(p, &p->held.items[i].event, &b);
        pair_unhold(p, i);
        pair_counts(p, e->process)->n_inversions += 2;
        p->n_inversions += 2;
        return true;
}

/* Takes the event as it is: its partner will not come. */
static void pair_force(struct pair *p, struct pair_event *e) {
        struct block b;

        if (!event_allocates(e)) {
                if (!pair_free_now(p, e, e->address))
                        pair_count_unknown(p, e);
                return;
        }
        if (pair_pass_by(p, e))
                return;
        if (e->kind == WIRE_REALLOC_END && e->old == PAIR_OLD_BLOCK &&
            !live_find(&e->process->live, e->old_address, &b)) {
                pair_count_unknown(p, e);
                e->old = PAIR_OLD_NONE;
        }
        if (e->kind == WIRE_ALLOC || e->old != PAIR_OLD_BLOCK || e->old_address != e->address)
                pair_free_implicitly(p, e);
        pair_try(p, e);
}

static void pair_force_first(struct pair *p) {
        struct pair_event e = pair_unhold(p, 0);

        if (!pair_try(p, &e))
                pair_force(p, &e);
        pair_resolve(p, &e);
}

static void pair_hold(struct pair *p, const struct pair_event *e, bool is_new) {
        if (p->held.n >= MAX_HELD)
                pair_force_first(p);
        vec_push(&p->held, (struct pair_held){*e, e->time_ns + p->skew_ns, is_new});
}

void pair_expire(struct pair *p, uint64_t time_ns) {
        if (p->held.n > 0 && time_ns > p->book.now_ns)
                p->book.now_ns = time_ns;
        while (p->held.n > 0 && p->held.items[0].until_ns < time_ns)
                pair_force_first(p);
}

void pair_expire_all(struct pair *p) {
        while (p->held.n > 0)
                pair_force_first(p);
}

/* Attached: releases of blocks older than the recording are known as such before their address is given to others. */
static void pair_settle_priors(struct pair *p, const struct pair_event *e) {
        for (size_t i = 0; i < p->held.n; i++)
                if (pair_is_prior(&p->held.items[i].event, e) && !pair_is_behind(p, i)) {
                        struct pair_event h = pair_unhold(p, i);

                        pair_force(p, &h);
                        i = SIZE_MAX; /* from the first again: others may have waited for it */
                }
}

/* ---- arrival ------------------------------------------------------------------------------------ */

static void pair_apply_block(struct pair *p, const struct pair_event *e) {
        if (unlikely(p->held.n > 0)) {
                pair_expire(p, e->time_ns);
                if (p->prior && event_allocates(e))
                        pair_settle_priors(p, e);
                if (pair_is_awaited(p, e)) {
                        /* what waits for a realloc to end comes after it */
                        if (e->kind == WIRE_REALLOC_END && !pair_awaits_thread(p, e) &&
                            pair_try(p, e)) {
                                pair_resolve(p, e);
                                return;
                        }
                        pair_hold(p, e, true);
                        pair_resolve(p, e);
                        for (size_t i = 0; i < p->held.n; i++)
                                p->held.items[i].is_new = false;
                        return;
                }
        }
        if (unlikely(!pair_try(p, e)))
                pair_hold(p, e, false);
}

static void pair_begin_realloc(struct pair *p, const struct pair_event *e) {
        pair_end_slot(p, e->slot_no);
        vec_push(&p->moving,
                 (struct pair_moving){e->process, e->address, e->thread, e->slot_no, false});
        if (unlikely(p->held.n > 0))
                pair_resolve(p, e);
}

static void pair_end_realloc(struct pair *p, const struct pair_event *e) {
        struct pair_event end = *e;

        for (size_t i = 0; i < p->moving.n; i++)
                if (p->moving.items[i].slot_no == e->slot_no && end.old == PAIR_OLD_BLOCK &&
                    p->moving.items[i].is_released)
                        end.old = PAIR_OLD_RELEASED;
        pair_end_slot(p, e->slot_no);
        if (e->result == WIRE_REALLOC_FAILED) {
                pair_counts(p, e->process)->n_failed++;
                trace_put_other(p->book.writer, e->thread, p->book.now_ns, TRACE_FAILED,
                                e->size_bytes, 0, 0);
        } else if (e->result == WIRE_REALLOC_OK || end.old == PAIR_OLD_BLOCK) {
                pair_apply_block(p, &end);
        }
}

void pair_apply(struct pair *p, const struct pair_event *e) {
        book_set_now(&p->book, e->time_ns);
        switch (e->kind) {
        case WIRE_REALLOC_BEGIN: pair_begin_realloc(p, e); break;
        case WIRE_REALLOC_END: pair_end_realloc(p, e); break;
        case WIRE_FAILED:
                pair_counts(p, e->process)->n_failed++;
                trace_put_other(p->book.writer, e->thread, p->book.now_ns, TRACE_FAILED,
                                e->size_bytes, 0, 0);
                break;
        default: pair_apply_block(p, e); break;
        }
}

void pair_begin_range(struct pair *p, uint32_t thread, uint64_t time_ns) {
        book_set_now(&p->book, time_ns);
        pair_expire(p, time_ns);
        p->book.latest.items[thread].site = BOOK_NO_SITE; /* a release of many exchanges nothing */
}

void pair_free_in_range(struct pair *p, struct process *process, uint32_t thread,
                        uint64_t address) {
        struct block b;

        if (live_take(&process->live, address, &b))
                pair_put_free(p, process, &b, thread, 0);
        if (unlikely(p->held.n > 0))
                pair_resolve(p, &(struct pair_event){.process = process,
                                                     .address = address,
                                                     .kind = WIRE_FREE});
}

void pair_begin_bulk(struct pair *p, const struct process *process, uint32_t thread,
                     uint32_t slot_no, uint32_t heap) {
        pair_end_bulk(p, slot_no, NULL);
        vec_push(&p->bulks, (struct pair_bulk){process, thread, slot_no, heap});
        for (size_t i = 0; i < p->held.n; i++)
                if (p->held.items[i].event.process == process) {
                        struct pair_event about = p->held.items[i].event;
                        size_t n = p->held.n;

                        pair_resolve(p, &about);
                        if (p->held.n < n)
                                i = SIZE_MAX; /* from the first again */
                }
}

bool pair_end_bulk(struct pair *p, uint32_t slot_no, uint32_t *ret_heap) {
        for (size_t i = 0; i < p->bulks.n; i++)
                if (p->bulks.items[i].slot_no == slot_no) {
                        if (ret_heap)
                                *ret_heap = p->bulks.items[i].heap;
                        p->bulks.items[i] = p->bulks.items[--p->bulks.n];
                        return true;
                }
        return false;
}

void pair_free_in_heap(struct pair *p, struct process *process, uint32_t thread, uint64_t address,
                       uint64_t seq) {
        struct block b;

        if (pair_take(process, address, seq, &b))
                pair_put_free(p, process, &b, thread, 0);
        if (unlikely(p->held.n > 0))
                pair_resolve(p, &(struct pair_event){.process = process,
                                                     .address = address,
                                                     .kind = WIRE_FREE});
}

bool pair_awaits_heap(const struct pair *p, const struct process *process, uint32_t heap) {
        for (size_t i = 0; i < p->held.n; i++)
                if (p->held.items[i].event.process == process &&
                    p->held.items[i].event.heap == heap)
                        return true;
        return false;
}

void pair_end_process(struct pair *p, const struct process *process) {
        for (size_t i = 0; i < p->held.n;) {
                if (p->held.items[i].event.process != process) {
                        i++;
                        continue;
                }
                /* in order of arrival, so that the ones behind may still fit */
                struct pair_event e = pair_unhold(p, i);

                if (!pair_try(p, &e))
                        pair_force(p, &e);
                pair_resolve(p, &e);
                i = 0;
        }
        for (size_t i = 0; i < p->moving.n;) {
                if (p->moving.items[i].process == process)
                        p->moving.items[i] = p->moving.items[--p->moving.n];
                else
                        i++;
        }
        for (size_t i = 0; i < p->bulks.n;) {
                if (p->bulks.items[i].process == process)
                        p->bulks.items[i] = p->bulks.items[--p->bulks.n];
                else
                        i++;
        }
}

void pair_end_slot(struct pair *p, uint32_t slot_no) {
        for (size_t i = 0; i < p->moving.n; i++)
                if (p->moving.items[i].slot_no == slot_no) {
                        p->moving.items[i] = p->moving.items[--p->moving.n];
                        return;
                }
}

void pair_lost(struct pair *p, const struct pair_event *e, uint64_t n) {
        if (e->time_ns > p->book.now_ns)
                p->book.now_ns = e->time_ns;
        pair_end_slot(p, e->slot_no);
        pair_counts(p, e->process)->n_lost += n;
        trace_put_other(p->book.writer, e->thread, p->book.now_ns, TRACE_LOST, n, 0, 0);
}
