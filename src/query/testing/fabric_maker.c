/* SPDX-License-Identifier: MIT */
/* The fabric whose books are the recorder's: events go to the maker, and only what a program knows of its blocks is kept. */
#include <assert.h>

#include "ledger/trace_maker.h"
#include "query/testing/fabric_core.h"

enum { FIRST_ADDRESS = 0x10000, UNKNOWN_ADDRESS = 0x10 };

static void must(int r) {
        if (r < 0)
                abort();
}

void fabric_made_new(struct fabric *f) {
        assert(!f->o.sample_bytes && !f->o.without_moves);
        f->o.passes_on = true;
        must(trace_maker_new(f->w, 0, &f->maker));
}

/* What ends a slice may move the time on; an event before it would be late. */
static void follow_time(struct fabric *f) {
        f->time_ns = MAX(f->time_ns, trace_slice_begin_ns(f->w));
}

void fabric_made_end(struct fabric *f) {
        trace_maker_finish(f->maker, f->time_ns);
        assert(trace_maker_n_late(f->maker) == 0);
        f->maker = trace_maker_free(f->maker);
}

void fabric_made_end_slice(struct fabric *f) {
        f->time_ns += 1000;
        trace_maker_end_slice(f->maker, f->time_ns);
        follow_time(f);
        f->n_slice_events = 0;
}

/* ---- processes ---------------------------------------------------------------------------------- */

uint32_t fabric_made_begin(struct fabric *f, const struct trace_process *start, bool inherits) {
        uint32_t process;

        must(trace_maker_begin_process(f->maker, start, inherits, &process));
        follow_time(f);
        return process;
}

void fabric_made_end_process(struct fabric *f, const struct trace_process_end *end) {
        must(trace_maker_end_process(f->maker, end));
        f->time_ns += 1000;
        follow_time(f);
}

/* ---- events ------------------------------------------------------------------------------------- */

static uint64_t new_address(struct fabric *f) {
        return FIRST_ADDRESS + 16 * f->n_addresses++;
}

/* The maker numbers blocks as they are allocated. */
static uint64_t add_block(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                          const struct trace_maker_block *block) {
        struct live_block b = {.seq = f->n_seqs++,
                               .address = block->address,
                               .size_bytes = block->size_bytes,
                               .stack = block->stack,
                               .thread = t->id,
                               .time_ns = f->time_ns};

        vec_push(&p->live, b);
        follow_time(f);
        return b.seq;
}

static void drop_block(struct fabric_process *p, struct live_block *b) {
        *b = p->live.items[--p->live.n];
}

uint64_t fabric_made_alloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                           uint32_t stack, uint64_t size_bytes) {
        struct trace_maker_block new = {.address = new_address(f),
                                        .size_bytes = size_bytes,
                                        .stack = stack};

        must(trace_maker_allocate(f->maker, f->time_ns, t->id, &new));
        return add_block(f, p, t, &new);
}

void fabric_made_free(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                      struct live_block *b, uint32_t free_stack) {
        must(trace_maker_release(f->maker, f->time_ns, t->id, b->address, free_stack));
        drop_block(p, b);
        follow_time(f);
}

void fabric_made_realloc(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         struct live_block *old, uint32_t stack, uint64_t size_bytes) {
        bool is_in_place = f->n_seqs % FABRIC_IN_PLACE == 0;
        struct trace_maker_block new = {.address = is_in_place ? old->address : new_address(f),
                                        .size_bytes = size_bytes,
                                        .stack = stack};

        must(trace_maker_reallocate(f->maker, f->time_ns, t->id, old->address, &new));
        drop_block(p, old);
        add_block(f, p, t, &new);
}

void fabric_made_replace(struct fabric *f, struct fabric_process *p, struct fabric_thread *t,
                         struct live_block *old, uint32_t stack, uint64_t size_bytes) {
        struct trace_maker_block new = {.address = old->address,
                                        .size_bytes = size_bytes,
                                        .stack = stack};

        must(trace_maker_allocate(f->maker, f->time_ns, t->id, &new));
        drop_block(p, old);
        add_block(f, p, t, &new);
}

/* A maker knows nothing of blocks from before the recording, nor of sizes given to delete: of these it makes unknown frees. */
void fabric_made_other(struct fabric *f, struct fabric_thread *t, enum trace_other other) {
        if (other == TRACE_FAILED)
                must(trace_maker_fail(f->maker, f->time_ns, t->id, 3));
        else if (other == TRACE_LOST)
                must(trace_maker_lose(f->maker, f->time_ns, t->id, 3));
        else
                must(trace_maker_release(f->maker, f->time_ns, t->id, UNKNOWN_ADDRESS, 0));
        follow_time(f);
}
