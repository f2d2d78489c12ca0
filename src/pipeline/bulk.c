/* SPDX-License-Identifier: MIT */
/* Records that release many blocks at once: ranges of pools (silt.h), heaps of allocators. */
#include "pipeline/heaps.h"
#include "pipeline/pipeline_state.h"

enum { RANGE_SLICE = 512 };

/* ---- pools ------------------------------------------------------------------------------------------ */

struct bulk_range {
        struct pipeline *p;
        struct slot *s;
        uint64_t n;
};

static bool bulk_free_one(void *ctx, uint64_t address) {
        struct bulk_range *r = ctx;
        /* one that waits for its turn is handed out by this very release */
        bool may_stay = r->p->pair.held.n > 0;

        if (++r->n % RANGE_SLICE == 0)
                pipeline_check_slice(r->p);
        pair_free_in_range(&r->p->pair, r->s->process, r->s->thread, address | WIRE_POOL);
        return may_stay;
}

void bulk_free_range(struct pipeline *p, struct slot *s, const uint64_t *words, uint64_t time_ns) {
        struct bulk_range r = {.p = p, .s = s};

        pipeline_check_slice(p);
        pair_begin_range(&p->pair, s->thread, time_ns);
        pools_visit(&s->process->pools, words[1], words[2], bulk_free_one, &r);
}

static bool bulk_is_live(void *ctx, uint64_t address) {
        struct block b;

        return live_find(ctx, address | WIRE_POOL, &b);
}

void bulk_pool_alloc(struct pipeline *p, struct process *process, uint64_t address) {
        if (unlikely(pools_wants_sweep(&process->pools)) && p->pair.held.n == 0)
                pools_sweep(&process->pools, bulk_is_live, &process->live);
        pools_add(&process->pools, address & WIRE_ADDRESS_MASK);
}

/* ---- heaps ------------------------------------------------------------------------------------------ */

static bool bulk_is_in_heap(void *ctx, uint64_t address, uint64_t seq) {
        struct block b;

        return live_find(ctx, address, &b) && block_seq(&b) == seq;
}

/* Numbers of heaps change with a sweep: nothing may wait that knows one. */
static void bulk_sweep_heaps(struct pipeline *p, struct process *process) {
        if (p->pair.held.n == 0 && p->pair.bulks.n == 0)
                heaps_sweep(process->heaps, bulk_is_in_heap, &process->live);
}

uint32_t bulk_open_heap(struct process *process, uint64_t id) {
        if (!process->heaps)
                process->heaps = heaps_new();
        return heaps_open(process->heaps, id);
}

void bulk_expect_heap(struct pipeline *p, struct process *process) {
        if (process->heaps && heaps_wants_sweep(process->heaps))
                bulk_sweep_heaps(p, process);
}

static void bulk_free_in_heap(void *ctx, uint64_t address, uint64_t seq) {
        struct bulk_range *r = ctx;

        if (++r->n % RANGE_SLICE == 0)
                pipeline_check_slice(r->p);
        pair_free_in_heap(&r->p->pair, r->s->process, r->s->thread, address, seq);
}

/* Its blocks are gone, or nobody's from now on. */
static void bulk_end_heap(struct pipeline *p, struct slot *s, uint32_t heap, bool is_released) {
        struct bulk_range r = {.p = p, .s = s};
        struct heaps *heaps = s->process->heaps;

        heaps_empty(heaps, heap, is_released ? bulk_free_in_heap : NULL, &r);
        if (pair_awaits_heap(&p->pair, s->process, heap))
                heaps_close(heaps, heap, is_released ? HEAPS_RELEASED : HEAPS_KEPT);
        else
                heaps_attach(heaps, heap);
}

static void bulk_begin_heap(struct pipeline *p, struct slot *s, uint64_t id) {
        struct heaps *heaps = s->process->heaps;
        uint32_t heap = heaps ? heaps_find(heaps, id) : 0;

        if (heap)
                heaps_detach(heaps, heap);
        pair_begin_bulk(&p->pair, s->process, s->thread, s->no, heap);
}

void bulk_heap(struct pipeline *p, struct slot *s, const uint64_t *words, uint64_t time_ns) {
        struct heaps *heaps = s->process->heaps;
        uint32_t heap;

        pipeline_check_slice(p);
        if (words[2] == WIRE_HEAP_BEGIN) {
                bulk_begin_heap(p, s, words[1]);
                return;
        }
        if (words[2] == WIRE_HEAP_KEPT && words[3]) {
                bulk_open_heap(s->process, words[1]);
                heaps = s->process->heaps;
                heaps_add_record(heaps, words[1]);
        }
        if (!pair_end_bulk(&p->pair, s->no, &heap))
                heap = heaps ? heaps_find(heaps, words[1]) : 0;
        if (!heap)
                return;
        if (words[2] == WIRE_HEAP_RELEASED)
                pair_begin_range(&p->pair, s->thread, time_ns);
        if (words[2] == WIRE_HEAP_RELEASED || words[2] == WIRE_HEAP_KEPT)
                bulk_end_heap(p, s, heap, words[2] == WIRE_HEAP_RELEASED);
        else
                heaps_attach(heaps, heap);
}
