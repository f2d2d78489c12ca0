/* SPDX-License-Identifier: MIT */
#include "pipeline/tally.h"

#include <string.h>

#include "pipeline/pipeline_state.h"
#include "trace/writer.h"
#include "wire/sample_draw.h"

/* What counting takes, between what it does in a loop (1.3 ns) and in programs that miss the caches (4 ns), on a
 * Neoverse-V1 (bench/budget_hold.py). */
enum { TALLY_EVENT_PS = 2500 };

enum { TALLY_MAX_LOOKS = 16 };

/* relaxed in all of them: sums of their own, and more than this is nonsense */
#define TALLY_MAX ((uint64_t)1 << 56)

static uint64_t tally_load(const _Atomic uint64_t *sum) {
        return MIN(atomic_load_explicit(sum, memory_order_relaxed), TALLY_MAX);
}

static void tally_clear(_Atomic uint64_t *sums, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes / sizeof(*sums); i++)
                atomic_store_explicit(&sums[i], 0, memory_order_relaxed);
}

void tally_reset(struct wire_slot *slot) {
        tally_clear(&slot->tally.n_allocs, sizeof(slot->tally));
        tally_clear(&slot->nested_tally.n_allocs, sizeof(slot->nested_tally));
        atomic_store_explicit(&slot->n_samples, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->sample_ticks, 0, memory_order_relaxed);
}

struct tally_charge {
        uint64_t n_allocs, due_bytes, sample_at, next_at;
};

/* acquire: one after the other. */
static struct tally_charge tally_load_charge(const struct wire_tally *t) {
        struct tally_charge c;

        c.sample_at = atomic_load_explicit(&t->sample_at, memory_order_acquire);
        c.next_at = atomic_load_explicit(&t->next_at, memory_order_acquire);
        c.due_bytes = atomic_load_explicit(&t->due_bytes, memory_order_acquire);
        c.n_allocs = atomic_load_explicit(&t->n_allocs, memory_order_acquire);
        return c;
}

/* The thread may be storing them: what two looks in a row see alike is of one moment. Of one that is too busy for that,
 * what is seen half done is mostly less than there is, and there is more by the next time. */
static void tally_add_charged(struct tally *to, const struct wire_tally *t) {
        struct tally_charge c = tally_load_charge(t), last;
        uint64_t bytes;
        int n = 0;

        do {
                last = c;
                c = tally_load_charge(t);
        } while (memcmp(&c, &last, sizeof(c)) != 0 && ++n < TALLY_MAX_LOOKS);
        bytes = sample_alloc_bytes(c.n_allocs, c.due_bytes, c.sample_at, c.next_at);
        to->n_allocs += MIN(c.n_allocs, TALLY_MAX);
        to->alloc_bytes += (int64_t)bytes < 0 ? 0 : MIN(bytes, TALLY_MAX);
}

static void tally_add_slot(struct tally *to, const struct wire_slot *slot) {
        tally_add_charged(to, &slot->tally);
        to->n_frees += tally_load(&slot->tally.n_frees);
        to->n_reallocs += tally_load(&slot->tally.n_reallocs);
        to->n_allocs += tally_load(&slot->nested_tally.n_allocs);
        to->alloc_bytes += tally_load(&slot->nested_tally.alloc_bytes);
        to->n_frees += tally_load(&slot->nested_tally.n_frees);
        to->n_reallocs += tally_load(&slot->nested_tally.n_reallocs);
        to->n_samples += tally_load(&slot->n_samples);
        to->sample_ticks += tally_load(&slot->sample_ticks);
}

void tally_take(struct process *process, const struct wire_slot *slot) {
        tally_add_slot(&process->tally, slot);
}

struct tally tally_of(const struct pipeline *p, const struct process *process) {
        struct tally t = process->tally;

        for (size_t i = 0; i < p->drain.active.n; i++)
                if (p->drain.active.items[i]->process_idx == process->idx)
                        tally_add_slot(&t, p->drain.active.items[i]->shared);
        return t;
}

uint64_t tally_sample_ns(const struct pipeline *p, const struct tally *t) {
        return (uint64_t)((unsigned __int128)t->sample_ticks * p->ns_mult >> 32);
}

uint64_t tally_count_ns(const struct tally *t) {
        return (t->n_allocs + t->n_frees) / 1000 * TALLY_EVENT_PS;
}

/* A sum that went down is none, but what a target wrote over its own slot. */
static void raise_to(uint64_t *told, uint64_t value) {
        *told = MAX(*told, value);
}

void tally_write(struct pipeline *p, struct process *process) {
        const struct wire_process *shared = &p->shared_processes[process->idx];
        struct trace_tally *told = &process->tally_told;
        struct tally t;

        if (!p->pair.is_sampled || !process->is_started)
                return;
        t = tally_of(p, process);
        told->process = process->trace_id;
        raise_to(&told->time_ns, p->pair.book.now_ns);
        raise_to(&told->n_allocs, t.n_allocs);
        raise_to(&told->n_frees, t.n_frees);
        raise_to(&told->n_reallocs, t.n_reallocs);
        raise_to(&told->alloc_bytes, t.alloc_bytes);
        raise_to(&told->n_unsampled,
                 atomic_load_explicit(&shared->n_unsampled, memory_order_relaxed));
        told->runtime_ns = tally_sample_ns(p, &t) + tally_count_ns(&t);
        told->sample_bytes = atomic_load_explicit(&p->header->sample_bytes, memory_order_relaxed);
        trace_put_tally(p->config.writer, told);
}

void tally_write_all(struct pipeline *p) {
        for (size_t i = 0; i < p->active.n; i++)
                tally_write(p, p->active.items[i]);
}
