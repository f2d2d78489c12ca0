/* SPDX-License-Identifier: MIT */
/* The live blocks of one process, cheap to share after a fork.
 *
 *   own table ─▶ layer ─▶ layer ─▶ …        what is further left hides what is further right
 *
 * A fork freezes the parent's own table into a layer that both go on from; from then on each writes into a table of
 * its own, with tombstones for what it releases of the layers. Layers never change while shared. When a
 * process is the only one left on its topmost layer, live_fold moves it and the own table together again, a few blocks
 * at a time. Chains are at most LIVE_MAX_LAYERS long. */
#pragma once

#include "ledger/block_table.h"

enum { LIVE_MAX_LAYERS = 6 };

enum live_flags {
        LIVE_TOMBSTONE = 1u << 0, /* not live here although a layer below has it */
        LIVE_SHADOWS = 1u << 1,   /* live, and a layer below has this address too */
};

struct live_layer; /* counted; freed with its last reference */

struct live {
        struct table own;
        struct live_layer *base; /* NULL: nothing inherited */
        size_t fold_cursor;
};

void live_init(struct live *l, struct live_layer *base); /* takes the reference; NULL ok */
void live_done(struct live *l);

static inline struct table_hint live_prefetch(const struct live *l, uint64_t address) {
        return table_prefetch(&l->own, address);
}

/* What the own table says of address, perhaps a tombstone, and the hint made exact; NULL: nothing that can be
 * seen from here. */
static inline const struct block *live_peek(const struct live *l, uint64_t address,
                                            struct table_hint *hint) {
        const struct block *b = table_follow(&l->own, address, *hint);

        if (likely(b))
                hint->place = (uint32_t)(b - l->own.segments.items[hint->segment].blocks);
        return b;
}

/* A new block at address, to be filled by block_set at once; NULL when the address is live. */
struct block *live_add(struct live *l, uint64_t address);

/* The same for the usual case, in a few steps; NULL: ask live_add. */
static inline struct block *live_add_hinted(struct live *l, uint64_t address,
                                            struct table_hint hint) {
        return likely(!l->base) ? table_add_hinted(&l->own, address, hint) : NULL;
}

/* The block itself, if nothing is special about it and the hint is exact; NULL: ask live_take. */
static inline struct block *live_at(const struct live *l, uint64_t address,
                                    struct table_hint hint) {
        struct block *b = table_at(&l->own, address, hint);

        return b && !block_flags(b) ? b : NULL;
}

/* b: from live_at. */
static inline void live_remove(struct live *l, struct block *b, struct table_hint hint) {
        table_remove_hinted(&l->own, b, hint);
}

/* Takes the block away; false when there is none. */
bool live_take(struct live *l, uint64_t address, struct block *ret);
bool live_take_hinted(struct live *l, uint64_t address, struct table_hint hint, struct block *ret);

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
