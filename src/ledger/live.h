/* SPDX-License-Identifier: MIT */
/* The live blocks of one process, cheap to share after a fork.
 *
 *   nursery ─▶ own table ─▶ layer ─▶ layer ─▶ …        what is further left hides what is further right
 *
 * A new block is in the nursery until another one needs its place (nursery.h); then it is in the own table.
 *
 * A fork freezes the parent's blocks into a layer that both go on from; from then on each writes into tables of
 * its own, with tombstones for what it releases of the layers. Layers never change while shared. When a
 * process is the only one left on its topmost layer, live_fold moves it and the own table together again, a few blocks
 * at a time. Chains are at most LIVE_MAX_LAYERS long. */
#pragma once

#include "ledger/block_table.h"
#include "ledger/nursery.h"

enum { LIVE_MAX_LAYERS = 6 };

enum live_flags {
        LIVE_TOMBSTONE = 1u << 0, /* not live here although a layer below has it */
        LIVE_SHADOWS = 1u << 1,   /* live, and a layer below has this address too */
};

struct live_layer; /* counted; freed with its last reference */

struct live {
        struct nursery young;
        struct table own;
        struct live_layer *base; /* NULL: nothing inherited */
        size_t fold_cursor;
};

void live_init(struct live *l, struct live_layer *base); /* takes the reference; NULL ok */
void live_done(struct live *l);

/* An event of this address comes soon: what it needs of the large table is fetched. */
static inline void live_prefetch(const struct live *l, uint64_t address) {
        table_prefetch(&l->own, address);
}

/* The same for a new block: also what the one needs that makes room for it. */
static inline void live_prefetch_new(const struct live *l, uint64_t address) {
        uint32_t idx = nursery_idx(&l->young, address);

        if (unlikely(!l->young.blocks) || l->young.dead[idx] != address)
                table_prefetch(&l->own, address);
        if (likely(l->young.blocks && !l->young.n_to_pass) && l->young.blocks[idx].address)
                table_prefetch(&l->own, l->young.blocks[idx].address);
}

struct block *live_add_slow(struct live *l, uint64_t address);

/* A new block at address, to be filled by block_set at once; NULL when the address is live. Valid until the next. */
static inline struct block *live_add(struct live *l, uint64_t address) {
        uint32_t idx = nursery_idx(&l->young, address);
        struct block *b;

        if (unlikely(!l->young.blocks || l->young.n_to_pass))
                return live_add_slow(l, address);
        b = &l->young.blocks[idx];
        if (unlikely(b->address != 0) ||
            (l->young.dead[idx] != address &&
             unlikely(l->base != NULL || table_find(&l->own, address))))
                return live_add_slow(l, address);
        b->address = address;
        l->young.dead[idx] = 0;
        l->young.n_added++;
        return b;
}

/* A block that nothing is special about, if it is found in a few steps; NULL: ask live_take. */
static inline struct block *live_at(const struct live *l, uint64_t address, bool *ret_is_young) {
        struct block *b = nursery_find(&l->young, address);

        *ret_is_young = b != NULL;
        if (likely(b))
                return b;
        b = table_find(&l->own, address);
        return b && !block_flags(b) ? b : NULL;
}

/* Both from live_at. */
static inline void live_remove(struct live *l, struct block *b, bool is_young) {
        if (likely(l->young.blocks != NULL))
                l->young.dead[nursery_idx(&l->young, b->address)] = b->address;
        if (likely(is_young))
                b->address = 0;
        else
                table_remove(&l->own, b);
}

/* Takes the block away; false when there is none. */
bool live_take(struct live *l, uint64_t address, struct block *ret);

bool live_find(const struct live *l, uint64_t address, struct block *ret);

/* The block, for changing it in place; NULL when there is none. */
struct block *live_edit(struct live *l, uint64_t address);

/* Everything live now, as a layer for a child; l goes on above it. */
struct live_layer *live_freeze(struct live *l);
struct live_layer *live_layer_unref(struct live_layer *layer); /* NULL ok; returns NULL */

/* Moves up to about n_blocks of own table and topmost layer together; true while there is more to do. */
bool live_fold(struct live *l, size_t n_blocks);

size_t live_size_bytes(
        const struct live *l); /* own table alone; layers are counted by live_layers_bytes */
size_t live_layers_bytes(void);

/* Calls fn for every live block, in no order. */
void live_walk(const struct live *l, void (*fn)(void *ctx, const struct block *b), void *ctx);
