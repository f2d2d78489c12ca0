/* SPDX-License-Identifier: MIT */
/* What an event does once it is its turn: to the trace, to the figures of its site and process, to what is known of its
 * thread. The recorder comes here when its records are in order (pipeline/pairing.c), an importer through trace_maker.h; so
 * that both count alike.
 *
 * Whoever calls owns the live table: he has found the block that goes, and made the place of the one that comes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "ledger/live.h"
#include "ledger/site_figures.h"

#define BOOK_NO_SITE UINT32_MAX

/* Two of them are less than the 16.7 s that a block's time takes to come round, and one is the last bucket of
 * lifetimes. */
#define BOOK_ERA_NS ((BLOCK_MAX_AGE_US + 1) / 4 * 1000)

/* A thread's latest allocation. */
struct book_latest {
        _Alignas(32) uint64_t seq; /* UINT64_MAX: none */
        uint64_t size_bytes;
        uint32_t site;            /* BOOK_NO_SITE: it has replaced a block already, or is gone */
        uint32_t n_thread_allocs; /* sampled: with it */
};

struct book {
        struct trace_writer *writer;
        struct sites *sites;
        uint64_t now_ns;                /* of the latest event; never goes back */
        VEC(struct book_latest) latest; /* by thread */

        /* Ages. Blocks keep their time modulo 16.7 s, so older ones would seem young. Numbers rise with time: a block with
         * a number below old_seq was allocated before the last era began. */
        uint64_t next_seq, era_end_ns, era_seq, old_seq;
};

void book_init(struct book *b, struct trace_writer *w, struct sites *s);
void book_done(struct book *b);
void book_add_thread(struct book *b, uint32_t thread);
void book_begin_era(struct book *b);

static inline void book_set_now(struct book *b, uint64_t time_ns) {
        if (likely(time_ns > b->now_ns))
                b->now_ns = time_ns;
        if (unlikely(b->now_ns >= b->era_end_ns))
                book_begin_era(b);
}

/* At most BLOCK_MAX_AGE_US, which then stands for all that is older than an era. */
static inline uint64_t book_age_us(const struct book *b, const struct block *block) {
        return unlikely(block_seq(block) < b->old_seq) ? BLOCK_MAX_AGE_US
                                                       : block_age_us(block, b->now_ns / 1000);
}

static inline uint32_t book_stack(const struct book *b, const struct block *block) {
        return sites_at(b->sites, block->site)->stack;
}

/* A release of a block that the thread has just replaced. */
void book_exchange(struct book *b, const struct block *block, struct book_latest *latest);

/* The figures of a block's release by thread; n_blocks: that it stands for. */
static inline __attribute__((always_inline)) void book_release(struct book *b, struct figures *f,
                                                               const struct block *block,
                                                               uint32_t thread, uint32_t n_blocks) {
        struct book_latest *latest = &b->latest.items[thread];
        bool is_temporary = latest->seq == block_seq(block);
        /* what is gone replaces nothing; without a branch, since nobody can predict it */
        uint32_t latest_site = latest->site | (is_temporary ? BOOK_NO_SITE : 0);

        latest->site = latest_site;
        if (unlikely(latest_site == block->site && latest->size_bytes != block_size_bytes(block)))
                book_exchange(b, block, latest);
        sites_release(b->sites, f, block->site, n_blocks, n_blocks * block_size_bytes(block),
                      b->now_ns, book_age_us(b, block), is_temporary,
                      block_thread(block) != (uint16_t)thread);
}

/* A release that must have been, since the address was handed out again: nobody's, so nothing is temporary or moved. */
void book_release_implicitly(struct book *b, struct figures *f, const struct block *block,
                             uint32_t thread, uint32_t n_blocks);

/* A block that came; the trace has given it its number. */
struct book_birth {
        uint64_t seq, size_bytes;
        uint32_t site, thread;
        uint32_t n_blocks;        /* that it stands for */
        uint32_t n_thread_allocs; /* sampled; else 0 */
        bool is_complete, is_realloc;
};

static inline __attribute__((always_inline)) void book_allocate(struct book *b, struct figures *f,
                                                                struct block *block,
                                                                const struct book_birth *n) {
        block_set(block, n->site, n->seq, n->size_bytes, n->thread, b->now_ns / 1000);
        sites_alloc(b->sites, f, n->site, n->n_blocks, n->n_blocks * n->size_bytes, b->now_ns,
                    n->is_complete, n->is_realloc);
        sites_note_peak(b->sites, f, b->now_ns);
        b->latest.items[n->thread] =
                (struct book_latest){n->seq, n->size_bytes, n->site, n->n_thread_allocs};
        b->next_seq = n->seq + 1;
}

/* What a realloc is beside a release and an allocation: neither exchanges anything, and the block may have grown. */
static inline void book_begin_realloc(struct book *b, uint32_t thread) {
        b->latest.items[thread].site = BOOK_NO_SITE;
}

void book_end_realloc(struct book *b, const struct book_birth *n, uint64_t old_size_bytes,
                      bool is_in_place);
