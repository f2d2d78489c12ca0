/* SPDX-License-Identifier: MIT */
#include "ledger/live.h"

#include <stdio.h>
#include <stdlib.h>

struct live_layer {
        struct table table;       /* constant while n_refs > 1 */
        struct live_layer *below; /* owns a reference */
        uint32_t n_refs;
        uint32_t n_below; /* layers under this one */
};

static size_t layers_bytes;

static struct live_layer *layer_new(struct table *t, struct live_layer *below) {
        struct live_layer *l = calloc(1, sizeof(*l));

        if (!l) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        l->table = *t;
        memset(t, 0, sizeof(*t));
        l->below = below;
        l->n_refs = 1;
        l->n_below = below ? below->n_below + 1 : 0;
        layers_bytes += l->table.size_bytes;
        return l;
}

struct live_layer *live_layer_unref(struct live_layer *l) {
        while (l && --l->n_refs == 0) {
                struct live_layer *below = l->below;

                layers_bytes -= l->table.size_bytes;
                table_done(&l->table);
                free(l);
                l = below;
        }
        return NULL;
}

void live_init(struct live *l, struct live_layer *base) {
        memset(l, 0, sizeof(*l));
        l->base = base;
}

void live_done(struct live *l) {
        nursery_done(&l->young);
        table_done(&l->own);
        l->base = live_layer_unref(l->base);
}

/* The topmost word on this address: a block, a tombstone, or nothing. */
static const struct block *layers_find(const struct live_layer *l, uint64_t address) {
        for (; l; l = l->below) {
                const struct block *b = table_find(&l->table, address);

                if (b)
                        return b;
        }
        return NULL;
}

static const struct block *layers_find_live(const struct live_layer *l, uint64_t address) {
        const struct block *b = layers_find(l, address);

        return b && !(block_flags(b) & LIVE_TOMBSTONE) ? b : NULL;
}

/* Is it live, and not young? */
static bool live_is_old(const struct live *l, uint64_t address) {
        const struct block *b = table_find(&l->own, address);

        if (b)
                return !(block_flags(b) & LIVE_TOMBSTONE);
        return layers_find_live(l->base, address) != NULL;
}

/* A block of the nursery goes on into the own table; its address may have a tombstone there. */
static void live_send_on(struct live *l, struct block *young) {
        bool added;
        struct block *b = table_add(&l->own, young->address, &added);
        uint16_t bits = b->bits;

        block_copy(b, young);
        b->bits = bits;
        block_set_flags(b, added ? 0 : LIVE_SHADOWS);
        young->address = 0;
}

static void live_send_all_on(struct live *l) {
        for (size_t i = 0; i < nursery_n_places(&l->young); i++)
                if (l->young.blocks[i].address)
                        live_send_on(l, &l->young.blocks[i]);
}

/* Past the nursery, where it is not. */
static struct block *live_add_old(struct live *l, uint64_t address) {
        bool added;
        struct block *b = table_add(&l->own, address, &added);

        if (!added) {
                if (!(block_flags(b) & LIVE_TOMBSTONE))
                        return NULL;
                block_set_flags(b, LIVE_SHADOWS);
                return b;
        }
        if (unlikely(l->base) && layers_find_live(l->base, address)) {
                table_remove(&l->own, b);
                return NULL;
        }
        return b;
}

struct block *live_add_slow(struct live *l, uint64_t address) {
        struct block *b;

        if (!l->young.blocks)
                nursery_start(&l->young);
        if (nursery_find(&l->young, address))
                return NULL;
        l->young.dead[nursery_idx(&l->young, address)] = 0;
        if (l->young.n_to_pass) {
                l->young.n_to_pass--;
                return live_add_old(l, address);
        }
        if (live_is_old(l, address))
                return NULL;
        b = &l->young.blocks[nursery_idx(&l->young, address)];
        if (b->address) {
                live_send_on(l, b);
                nursery_note_sent_on(&l->young);
                b = &l->young.blocks[nursery_idx(&l->young, address)];
        }
        b->address = address;
        l->young.n_added++;
        return b;
}

/* b: what the own table has, NULL nothing. */
static bool live_take_found(struct live *l, uint64_t address, struct block *b, struct block *ret) {
        const struct block *below;
        bool added;

        if (likely(b)) {
                if (block_flags(b) & LIVE_TOMBSTONE)
                        return false;
                *ret = *b;
                if (block_flags(b) & LIVE_SHADOWS)
                        block_set_flags(b, LIVE_TOMBSTONE);
                else
                        table_remove(&l->own, b);
                return true;
        }
        below = layers_find_live(l->base, address);
        if (!below)
                return false;
        *ret = *below;
        block_set_flags(table_add(&l->own, address, &added), LIVE_TOMBSTONE);
        return true;
}

bool live_take(struct live *l, uint64_t address, struct block *ret) {
        struct block *young = nursery_find(&l->young, address);

        if (young) {
                *ret = *young;
                young->address = 0;
                return true;
        }
        return live_take_found(l, address, table_find(&l->own, address), ret);
}

bool live_find(const struct live *l, uint64_t address, struct block *ret) {
        const struct block *b = nursery_find(&l->young, address);

        if (!b)
                b = table_find(&l->own, address);
        if (!b)
                b = layers_find(l->base, address);
        if (!b || block_flags(b) & LIVE_TOMBSTONE)
                return false;
        *ret = *b;
        return true;
}

struct block *live_edit(struct live *l, uint64_t address) {
        struct block *b = nursery_find(&l->young, address);
        const struct block *below;
        struct block copy;
        bool added;

        if (!b)
                b = table_find(&l->own, address);
        if (b)
                return block_flags(b) & LIVE_TOMBSTONE ? NULL : b;
        below = layers_find_live(l->base, address);
        if (!below)
                return NULL;
        copy = *below;
        block_set_flags(&copy, LIVE_SHADOWS);
        b = table_add(&l->own, address, &added);
        block_copy(b, &copy);
        return b;
}

/* Lays one entry of an upper table over the lower one; `is_bottom`: nothing lies below the lower one. upper is the caller's
 * own copy: the table may move. */
static void table_lay_over(struct table *lower, const struct block *upper, bool is_bottom) {
        struct block *b = table_find(lower, upper->address);
        bool hides = !is_bottom && block_flags(b ? b : upper) != 0, added;

        if (block_flags(upper) & LIVE_TOMBSTONE) {
                if (!hides) {
                        if (b)
                                table_remove(lower, b);
                        return;
                }
                if (!b)
                        b = table_add(lower, upper->address, &added);
                block_set_flags(b, LIVE_TOMBSTONE);
                return;
        }
        if (!b)
                b = table_add(lower, upper->address, &added);
        block_copy(b, upper);
        block_set_flags(b, hides ? LIVE_SHADOWS : 0);
}

/* Lays a whole table over another. */
static void table_lay_all_over(struct table *lower, const struct table *upper, bool is_bottom) {
        for (size_t i = 0; i < upper->segments.n; i++) {
                const struct table_segment *s = table_segment_at(upper, i);

                for (uint32_t j = 0; j < s->cap; j++) {
                        struct block b = s->blocks[j];

                        if (b.address)
                                table_lay_over(lower, &b, is_bottom);
                }
        }
}

/* One layer in place of the upper n of the chain; takes the chain's reference. */
static struct live_layer *layers_merge(struct live_layer *chain, uint32_t n) {
        struct live_layer *upper[LIVE_MAX_LAYERS + 2], *below = chain, *merged;
        struct table t = {0};

        for (uint32_t i = 0; i < n; i++) {
                upper[i] = below;
                below = below->below;
        }
        for (uint32_t i = n; i-- > 0;)
                table_lay_all_over(&t, &upper[i]->table, !below);
        if (below)
                below->n_refs++;
        merged = layer_new(&t, below);
        live_layer_unref(chain);
        return merged;
}

/* Too long a chain: all above the bottom become one; with the bottom when they have grown half as large. */
static struct live_layer *layers_shorten(struct live_layer *chain) {
        size_t n_upper = 0, n_bottom = 0;

        for (const struct live_layer *l = chain; l; l = l->below) {
                if (l->below)
                        n_upper += l->table.n;
                else
                        n_bottom = l->table.n;
        }
        return layers_merge(chain, n_upper * 2 >= n_bottom ? chain->n_below + 1 : chain->n_below);
}

struct live_layer *live_freeze(struct live *l) {
        live_send_all_on(l);
        if (l->own.n > 0 || !l->base) {
                l->base = layer_new(&l->own, l->base);
                if (l->base->n_below >= LIVE_MAX_LAYERS)
                        l->base = layers_shorten(l->base);
        }
        l->fold_cursor = 0;
        l->base->n_refs++;
        return l->base;
}

/* Empties segment after segment of `from` through `move`, about n_blocks. */
static void table_move_some(struct table *from, size_t *cursor, size_t n_blocks,
                            void (*move)(struct live *l, const struct block *b), struct live *l) {
        for (size_t n = 0, n_tried = 0; from->n > 0 && n < n_blocks && n_tried <= from->segments.n;
             n_tried++) {
                struct table_segment *s;

                if (*cursor >= from->segments.n)
                        *cursor = 0;
                s = &from->segments.items[(*cursor)++];
                for (uint32_t j = 0; j < s->cap; j++) {
                        struct block b = s->blocks[j];

                        if (b.address)
                                move(l, &b);
                }
                n += s->n;
                from->n -= s->n;
                s->n = 0;
                memset(s->blocks, 0, s->cap * sizeof(s->blocks[0]));
        }
}

static void fold_down(struct live *l, const struct block *b) {
        table_lay_over(&l->base->table, b, !l->base->below);
}

/* A block of the only layer, laid under the own table. */
static void fold_up(struct live *l, const struct block *b) {
        bool added;
        struct block *own = table_add(&l->own, b->address, &added);

        if (added)
                block_copy(own, b);
        else if (block_flags(own) & LIVE_TOMBSTONE)
                table_remove(&l->own, own);
        else
                block_set_flags(own, 0);
}

bool live_fold(struct live *l, size_t n_blocks) {
        struct live_layer *base = l->base;
        size_t bytes_before;

        if (!base || base->n_refs > 1)
                return false;
        bytes_before = base->table.size_bytes;
        if (!base->below && base->table.n < l->own.n)
                table_move_some(&base->table, &l->fold_cursor, n_blocks, fold_up, l);
        else
                table_move_some(&l->own, &l->fold_cursor, n_blocks, fold_down, l);
        layers_bytes += base->table.size_bytes - bytes_before;
        if (l->own.n > 0 && (base->below || base->table.n > 0))
                return true;

        /* one of the two is empty: it goes, the other becomes the own table */
        if (l->own.n == 0) {
                struct table t = l->own;

                l->own = base->table;
                layers_bytes += t.size_bytes - base->table.size_bytes;
                base->table = t;
        }
        l->base = base->below;
        base->below = NULL;
        live_layer_unref(base);
        l->fold_cursor = 0;
        return l->base && l->base->n_refs == 1;
}

size_t live_size_bytes(const struct live *l) {
        return l->own.size_bytes +
               nursery_n_places(&l->young) * (sizeof(struct block) + sizeof(uint64_t));
}

size_t live_layers_bytes(void) {
        return layers_bytes;
}

static void table_walk_visible(const struct table *t, const struct live *l,
                               const struct live_layer *above_end,
                               void (*fn)(void *ctx, const struct block *b), void *ctx) {
        for (size_t i = 0; i < t->segments.n; i++) {
                const struct table_segment *s = table_segment_at(t, i);

                for (uint32_t j = 0; j < s->cap; j++) {
                        const struct block *b = &s->blocks[j];
                        bool hidden = !b->address || block_flags(b) & LIVE_TOMBSTONE;

                        if (!hidden && t != &l->own)
                                hidden = table_find(&l->own, b->address);
                        for (const struct live_layer *a = l->base; !hidden && a != above_end;
                             a = a->below)
                                hidden = table_find(&a->table, b->address);
                        if (!hidden)
                                fn(ctx, b);
                }
        }
}

void live_walk(const struct live *l, void (*fn)(void *ctx, const struct block *b), void *ctx) {
        for (size_t i = 0; i < nursery_n_places(&l->young); i++)
                if (l->young.blocks[i].address)
                        fn(ctx, &l->young.blocks[i]);
        table_walk_visible(&l->own, l, l->base, fn, ctx);
        for (const struct live_layer *a = l->base; a; a = a->below)
                table_walk_visible(&a->table, l, a, fn, ctx);
}
