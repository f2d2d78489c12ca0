/* SPDX-License-Identifier: MIT */
#include "hook/sample.h"

/* Addresses of chosen blocks that are alive, in buckets of a cache line. One that finds its bucket full goes
 * to the next; where that is full too, the sample is not recorded, and counted. Places are taken and given
 * back by compare-and-swap, so nobody waits, not even a handler; a look-up reads both buckets whole. */
static _Atomic uint64_t *sample_table;
static uint64_t sample_n_buckets; /* a power of two */

const struct real_fn sample_counting = {0};

/* A heap of 64 GiB fills half of it; memory only as it is touched. */
#define SAMPLE_HEAP_BYTES (UINT64_C(128) << 30)
enum { SAMPLE_TABLE_MIN = 1 << 14, SAMPLE_TABLE_MAX = 1 << 20 };

bool sample_init(uint64_t interval_bytes) {
        uint64_t n = SAMPLE_TABLE_MIN;
        void *pages;

        while (n < SAMPLE_TABLE_MAX && n * interval_bytes < SAMPLE_HEAP_BYTES)
                n *= 2;
        pages = runtime_map(n * sizeof(uint64_t), SAMPLE_N_CLASSES);
        if (!pages)
                return false;
        /* after an attach before this one nobody saw what became of its samples */
        sample_clear_classes();
        sample_mark_early(NULL); /* no release of a block; malloc_enter.S need not ask */
        if (sample_table)
                runtime_unmap(sample_table, sample_n_buckets * SAMPLE_BUCKET * sizeof(uint64_t),
                              SAMPLE_N_CLASSES);
        sample_table = pages;
        sample_n_buckets = n / SAMPLE_BUCKET;
        return true;
}

/* Those of these libraries are not built on each other by name. */
bool sample_can_count_quickly(void) {
        static const char *const known[] = {"libc.so.6", "libjemalloc.so.2"};

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
                if (real_is_in("malloc", known[i]) && real_is_in("free", known[i]))
                        return runtime.is_wiped_on_fork && !runtime.is_attached;
        return false;
}

/* ---- the table --------------------------------------------------------------------------- */

static uint64_t sample_bucket_of(uint64_t block) {
        return sample_mix(block) & (sample_n_buckets - 1);
}

/* Place i of the 16 that an address may be at. */
static _Atomic uint64_t *sample_place(uint64_t block, unsigned i) {
        uint64_t bucket = sample_bucket_of(block) + i / SAMPLE_BUCKET;

        return &sample_table[(bucket & (sample_n_buckets - 1)) * SAMPLE_BUCKET + i % SAMPLE_BUCKET];
}

static bool sample_has(uint64_t block) {
        for (unsigned i = 0; i < 2 * SAMPLE_BUCKET; i++)
                if (atomic_load_explicit(sample_place(block, i), memory_order_relaxed) == block)
                        return true;
        return false;
}

/* Relaxed throughout: whoever releases the block got its address from the program, which hands it on with the
 * ordering it needs itself. */
static bool sample_add(uint64_t block) {
        bool is_in_class;

        if (sample_has(block))
                return true; /* its release was not seen */
        is_in_class = sample_enter_class(sample_class(block));
        for (unsigned i = 0; is_in_class && i < 2 * SAMPLE_BUCKET; i++) {
                uint64_t none = 0;

                if (atomic_compare_exchange_strong_explicit(sample_place(block, i), &none, block,
                                                            memory_order_relaxed,
                                                            memory_order_relaxed))
                        return true;
        }
        if (is_in_class)
                sample_leave_class(sample_class(block));
        atomic_fetch_add_explicit(&runtime.process->n_unsampled, 1, memory_order_relaxed);
        return false;
}

static bool sample_remove(uint64_t block) {
        for (unsigned i = 0; i < 2 * SAMPLE_BUCKET; i++) {
                uint64_t old = block;

                if (!atomic_compare_exchange_strong_explicit(sample_place(block, i), &old, 0,
                                                             memory_order_relaxed,
                                                             memory_order_relaxed))
                        continue;
                sample_leave_class(sample_class(block));
                return true;
        }
        return false;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static uint64_t sample_interval(void) {
        uint64_t mean_bytes =
                atomic_load_explicit(&runtime.header->sample_bytes, memory_order_relaxed);

        return mean_bytes == 0 || mean_bytes >> 40 ? 1 : mean_bytes;
}

/* Who is killed between two stores leaves the same sum of bytes: see sample_alloc_bytes. release: in this order for the
 * recorder too, which else would see more than there is. */
static void sample_set_due(struct wire_tally *tally, uint64_t left_bytes, uint64_t sample_at) {
        atomic_store_explicit(&tally->next_at, sample_at, memory_order_relaxed);
        atomic_store_explicit(&tally->due_bytes, 0 - left_bytes, memory_order_release);
        atomic_store_explicit(&tally->sample_at, sample_at, memory_order_release);
}

/* From what is charged for by now to the next chosen byte. */
static void sample_draw(struct thread *t) {
        struct wire_tally *tally = &t->lane.slot->tally;
        uint64_t charged_bytes = atomic_load_explicit(&tally->due_bytes, memory_order_relaxed) +
                                 atomic_load_explicit(&tally->sample_at, memory_order_relaxed);
        uint64_t left_bytes;

        t->sample_mean_bytes = sample_interval();
        left_bytes = (uint64_t)sample_distance(t->sample_mean_bytes,
                                               sample_mix(t->sample_random += SAMPLE_STEP)) +
                     1;
        sample_set_due(tally, left_bytes, charged_bytes + left_bytes);
}

void sample_start(struct thread *t) {
        uint32_t slot = (uint32_t)(t->lane.slot - (struct wire_slot *)((char *)runtime.header +
                                                                       runtime.header->slot_off));
        uint64_t seed = runtime.header->sample_seed ^ sample_mix(t->lane.slot_state) ^
                        sample_mix((uint64_t)slot + 1);

        t->sample_random = sample_mix(seed);
        t->nested_mean_bytes = sample_interval();
        sample_draw(t);
        t->tally = runtime.counts_quickly ? &t->lane.slot->tally : NULL;
        atomic_store_explicit(&t->nested_random, sample_mix(~seed), memory_order_relaxed);
        atomic_store_explicit(&t->nested_left_bytes,
                              sample_distance(t->nested_mean_bytes, sample_mix(~seed)),
                              memory_order_relaxed);
}

/* Temporary blocks are told by it: nothing was allocated since. */
static uint64_t sample_n_allocs(const struct thread *t) {
        const struct wire_slot *slot = t->lane.slot;

        return atomic_load_explicit(&slot->tally.n_allocs, memory_order_relaxed) +
               atomic_load_explicit(&slot->nested_tally.n_allocs, memory_order_relaxed);
}

enum { SAMPLE_MAX_NS = 20000 }; /* longer ones were interrupted: that time is not silt's */

/* What it costs is measured where it arises; it is too rare for that to matter. */
static void sample_record(struct thread *t, void *block, size_t size_bytes, uint64_t mean_bytes,
                          unsigned form, const struct unwind_regs *from) {
        struct wire_slot *slot = t->lane.slot;
        uint64_t begin = runtime_now(), ticks, max_ticks;

        if (!sample_add((uint64_t)block))
                return;
        event_stack(t, WIRE_SAMPLE,
                    (const uint64_t[]){(uint64_t)block, size_bytes, mean_bytes, sample_n_allocs(t)},
                    4, form, from);
        ticks = runtime_now() - begin;
        max_ticks = ((uint64_t)SAMPLE_MAX_NS << 16) / runtime.clock.ns_per_tick_q16;
        atomic_fetch_add_explicit(&slot->n_samples, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&slot->sample_ticks, ticks < max_ticks ? ticks : max_ticks,
                                  memory_order_relaxed);
}

HOOK_COLD void sample_take(struct thread *t, void *block, size_t size_bytes, unsigned form,
                           const struct unwind_regs *from) {
        uint64_t mean_bytes = t->sample_mean_bytes;

        sample_draw(t);
        SIGNAL_POINT("sample/drawn");
        sample_end(t, NULL);
        sample_record(t, block, size_bytes, mean_bytes, form, from);
}

HOOK_COLD void *sample_finish(struct thread *t, void *block, size_t size_bytes, unsigned form,
                              const struct unwind_regs *from) {
        if (block) {
                sample_take(t, block, size_bytes, form, from);
                return block;
        }
        sample_end(t, NULL);
        event_failed(t, size_bytes);
        return NULL;
}

/* Without a tally: a handler forked meanwhile, and it was counted in the parent. */
HOOK_COLD void sample_take_back(struct thread *t, size_t size_bytes) {
        struct wire_nested_tally *nested = &t->lane.slot->nested_tally;

        if (!t->tally)
                return;
        if (sample_is_inside(t)) {
                atomic_fetch_sub_explicit(&nested->n_allocs, 1, memory_order_relaxed);
                atomic_fetch_sub_explicit(&nested->alloc_bytes, size_bytes, memory_order_relaxed);
                return;
        }
        sample_begin(t, &sample_counting);
        sample_tally_uncount(t, size_bytes);
        sample_end(t, NULL);
}

HOOK_COLD bool sample_begin_chosen(struct thread *t, const struct real_fn *during) {
        if (!t->tally)
                return false;
        t->in_real = during;
        atomic_signal_fence(memory_order_seq_cst);
        t->is_tally_held = true;
        atomic_signal_fence(memory_order_seq_cst);
        return true;
}

/* ---- handlers that interrupted the runtime ------------------------------------------------ */

HOOK_COLD void sample_count_nested(struct thread *t, uint64_t n_frees, uint64_t n_reallocs) {
        struct wire_nested_tally *tally = &t->lane.slot->nested_tally;

        atomic_fetch_add_explicit(&tally->n_frees, n_frees, memory_order_relaxed);
        atomic_fetch_add_explicit(&tally->n_reallocs, n_reallocs, memory_order_relaxed);
}

HOOK_COLD void sample_alloc_nested(struct thread *t, void *block, size_t size_bytes, unsigned form,
                                   const struct unwind_regs *from) {
        struct wire_nested_tally *tally = &t->lane.slot->nested_tally;
        int64_t charge_bytes = (int64_t)sample_charge(size_bytes);
        uint64_t mean_bytes = t->nested_mean_bytes, random;

        atomic_fetch_add_explicit(&tally->n_allocs, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&tally->alloc_bytes, size_bytes, memory_order_relaxed);
        if (atomic_fetch_sub_explicit(&t->nested_left_bytes, charge_bytes, memory_order_relaxed) >=
            charge_bytes)
                return;
        random = atomic_fetch_add_explicit(&t->nested_random, SAMPLE_STEP, memory_order_relaxed);
        t->nested_mean_bytes = sample_interval();
        atomic_store_explicit(&t->nested_left_bytes,
                              sample_distance(t->nested_mean_bytes, sample_mix(random)),
                              memory_order_relaxed);
        sample_record(t, block, size_bytes, mean_bytes, form, from);
}

/* ---- releases ---------------------------------------------------------------------------- */

HOOK_COLD void sample_release(struct thread *t, void *block) {
        if (sample_remove((uint64_t)block))
                event_words(t, WIRE_SAMPLE_FREE,
                            (const uint64_t[]){(uint64_t)block, sample_n_allocs(t)}, 2);
}

/* The address leaves the table before the real call: behind it another thread may have been given it. */
bool sample_realloc_begin(struct thread *t, void *old) {
        if (likely(!old || !sample_may_have(old)) || !sample_remove((uint64_t)old))
                return false;
        event_realloc_begin(t, old);
        return true;
}

static void sample_count_release(struct thread *t, uint64_t n_reallocs) {
        struct wire_tally *tally = &t->lane.slot->tally;

        if (sample_is_inside(t)) {
                sample_count_nested(t, 1, n_reallocs);
                return;
        }
        sample_begin(t, &sample_counting);
        sample_count(&tally->n_frees, 1);
        sample_count(&tally->n_reallocs, n_reallocs);
        sample_end(t, NULL);
}

/* The end of a chosen block stands for itself; the new one is a block like any other. */
static void sample_end_realloc(struct thread *t, void *old, uint64_t result, uint64_t value,
                               unsigned form, const struct unwind_regs *from) {
        const uint64_t words[] = {0, value, result};

        if (result == WIRE_REALLOC_FAILED)
                sample_add((uint64_t)old);
        event_stack(t, WIRE_REALLOC_END, words, 3, form, from);
}

void sample_realloc_done(struct thread *t, void *old, bool was_chosen, void *block,
                         size_t size_bytes, unsigned form, const struct unwind_regs *from) {
        bool is_released = old && (block || size_bytes == 0);

        if (was_chosen && is_released)
                sample_end_realloc(t, old, WIRE_REALLOC_RELEASED, sample_n_allocs(t), form, from);
        else if (was_chosen)
                sample_end_realloc(t, old, WIRE_REALLOC_FAILED, size_bytes, form, from);
        else if (!block && !is_released)
                event_failed(t, size_bytes);
        if (is_released)
                sample_count_release(t, block != NULL);
        if (block)
                sample_alloc(t, block, size_bytes, form, from);
}

/* ---- before the runtime could record ------------------------------------------------------ */

void sample_replay_alloc(struct thread *t, const void *block, size_t size_bytes,
                         uint64_t *ret_n_allocs) {
        struct wire_tally *tally = &t->lane.slot->tally;

        sample_count(&tally->n_allocs, 1);
        sample_count(&tally->next_at, sample_charge(size_bytes));
        sample_count(&tally->sample_at, sample_charge(size_bytes));
        sample_add((uint64_t)block);
        *ret_n_allocs = sample_n_allocs(t);
}

void sample_replay_free(struct thread *t, void *block, bool is_realloc) {
        sample_count(&t->lane.slot->tally.n_frees, 1);
        sample_count(&t->lane.slot->tally.n_reallocs, is_realloc);
        sample_release(t, block);
}
