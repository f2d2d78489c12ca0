/* SPDX-License-Identifier: MIT */
#include "ledger/block_table.h"

#include <stdlib.h>

#include "ledger/slab.h"

enum { SEGMENT_MIN = 16, SEGMENT_STEP = TABLE_SEGMENT_MAX / 8 };

_Static_assert(SEGMENT_MIN * sizeof(struct block) == SLAB_UNIT_BYTES,
               "a unit is the least segment");
_Static_assert(TABLE_SEGMENT_MAX == SLAB_MAX_UNITS * SEGMENT_MIN, "the largest piece the largest");

/* Fresh blocks for a segment; what it had is for the caller to free. */
static void segment_start(struct table_segment *s, uint32_t cap) {
        s->cap = cap;
        s->n = 0;
        slab_alloc(cap / SEGMENT_MIN, &s->memory);
}

/* Moves blocks of any table: pointers to them are void. */
static void blocks_free(struct block *b, uint32_t cap) {
        slab_free(b, cap / SEGMENT_MIN);
}

/* Room for n blocks and some more. */
static uint32_t segment_cap_for(uint32_t n) {
        uint32_t cap = SEGMENT_MIN;

        while (n * 9 >= cap * 5 && (cap < TABLE_SEGMENT_MAX || n * 5 >= cap * 3))
                cap = cap < 128 || cap >= TABLE_SEGMENT_MAX ? cap * 2 : cap + SEGMENT_STEP;
        return cap;
}

static uint32_t segment_next(const struct table_segment *s, uint32_t place) {
        return place + TABLE_BUCKET == s->cap ? 0 : place + TABLE_BUCKET;
}

/* A free place for a block with these bits; the buckets it passes by are told. */
static struct block *segment_take_place(struct table_segment *s, uint16_t bits) {
        for (uint32_t place = table_home(s, bits);; place = segment_next(s, place)) {
                struct block *b = &s->blocks[place];

                for (int i = 0; i < TABLE_BUCKET; i++)
                        if (b[i].address == 0) {
                                s->n++;
                                return &b[i];
                        }
                /* at 255 it stays: a search too far is slow, not wrong */
                if (b->n_passed < UINT8_MAX)
                        b->n_passed++;
        }
}

static void segment_put(struct table_segment *s, const struct block *b) {
        block_copy(segment_take_place(s, b->bits), b);
}

static void table_resize_segment(struct table *t, struct table_segment *s, uint32_t cap) {
        struct table_segment old = *s;

        segment_start(s, cap);
        for (uint32_t i = 0; i < old.cap; i++)
                if (old.blocks[i].address != 0)
                        segment_put(s, &old.blocks[i]);
        blocks_free(old.blocks, old.cap);
        t->size_bytes += (cap - (size_t)old.cap) * sizeof(struct block);
}

/* One more segment. The slab knows where each segment keeps its pointer. */
static void table_add_segment(struct table *t) {
        const struct table_segment *before = t->segments.items;

        vec_add(&t->segments);
        t->size_bytes += sizeof(struct table_segment);
        for (size_t i = 0; t->segments.items != before && i + 1 < t->segments.n; i++)
                slab_set_place(t->segments.items[i].cap / SEGMENT_MIN,
                               &t->segments.items[i].memory);
}

static void table_double_directory(struct table *t) {
        size_t n = (size_t)1 << t->depth, cap = n;

        t->directory = vec_grow(t->directory, &cap, n * 2, sizeof(t->directory[0]));
        for (size_t i = n; i-- > 0;)
                t->directory[2 * i] = t->directory[2 * i + 1] = t->directory[i];
        t->depth++;
        t->size_bytes += n * sizeof(t->directory[0]);
}

/* Half of the directory entries that name segment idx go to a new one, and with them the blocks whose next bit is 1. */
static void table_split(struct table *t, uint32_t idx, uint64_t hash) {
        uint32_t upper_idx = (uint32_t)t->segments.n, n_upper = 0;
        struct table_segment old, *lower, *upper;
        size_t first, n;

        if (t->segments.items[idx].depth == t->depth)
                table_double_directory(t);
        table_add_segment(t);
        lower = &t->segments.items[idx];
        upper = &t->segments.items[upper_idx];
        old = *lower;
        upper->depth = ++lower->depth;

        n = (size_t)1 << (t->depth - lower->depth);
        first = (hash >> (64 - t->depth)) & ~(2 * n - 1);
        for (size_t i = 0; i < n; i++)
                t->directory[first + n + i] = upper_idx;

        for (uint32_t i = 0; i < old.cap; i++)
                n_upper += old.blocks[i].address != 0 &&
                           (table_hash(old.blocks[i].address) >> (64 - upper->depth) & 1);
        segment_start(lower, segment_cap_for(old.n - n_upper));
        segment_start(upper, segment_cap_for(n_upper));
        for (uint32_t i = 0; i < old.cap; i++)
                if (old.blocks[i].address != 0)
                        segment_put(table_hash(old.blocks[i].address) >> (64 - upper->depth) & 1
                                            ? upper
                                            : lower,
                                    &old.blocks[i]);
        blocks_free(old.blocks, old.cap);
        t->size_bytes += ((size_t)lower->cap + upper->cap - old.cap) * sizeof(struct block);
}

static void table_start(struct table *t) {
        size_t cap = 0;

        t->directory = vec_grow(NULL, &cap, 1, sizeof(t->directory[0]));
        t->directory[0] = 0;
        t->depth = 0;
        table_add_segment(t);
        segment_start(&t->segments.items[0], SEGMENT_MIN);
        t->size_bytes += SEGMENT_MIN * sizeof(struct block) + sizeof(t->directory[0]);
}

void table_done(struct table *t) {
        for (size_t i = 0; i < t->segments.n; i++)
                blocks_free(t->segments.items[i].blocks, t->segments.items[i].cap);
        vec_free(&t->segments);
        free(t->directory);
        memset(t, 0, sizeof(*t));
}

/* Makes room in the segment of hash. All its blocks may share the next bit, so a split may have to be repeated.
 * Addresses made to share many leading bits must not blow up the directory: then the segment grows instead. */
static void table_make_room(struct table *t, uint64_t hash) {
        for (;;) {
                uint32_t idx = table_segment_of(t, hash);
                struct table_segment *s = &t->segments.items[idx];

                if (!table_segment_is_full(s))
                        return;
                if (s->cap < TABLE_SEGMENT_MAX)
                        table_resize_segment(t, s, segment_cap_for(s->n + 1));
                else if (s->depth == t->depth && (size_t)1 << t->depth > t->n)
                        table_resize_segment(t, s, s->cap * 2);
                else
                        table_split(t, idx, hash);
        }
}

struct block *table_add(struct table *t, uint64_t address, bool *ret_added) {
        uint64_t hash = table_hash(address);
        uint16_t bits = table_part(hash);
        struct table_segment *s;
        struct block *b;

        if (unlikely(!t->directory))
                table_start(t);
        s = &t->segments.items[table_segment_of(t, hash)];
        b = table_probe(s, address, table_home(s, bits));
        *ret_added = !b;
        if (b)
                return b;
        if (unlikely(table_segment_is_full(s))) {
                table_make_room(t, hash);
                s = &t->segments.items[table_segment_of(t, hash)];
        }
        b = segment_take_place(s, bits);
        t->n++;
        b->address = address;
        b->bits = bits;
        return b;
}

void table_remove(struct table *t, struct block *b) {
        struct table_segment *s = &t->segments.items[table_segment_of(t, table_hash(b->address))];
        uint32_t bucket = (uint32_t)(b - s->blocks) / TABLE_BUCKET * TABLE_BUCKET;

        for (uint32_t place = table_home(s, b->bits); unlikely(place != bucket);
             place = segment_next(s, place))
                if (s->blocks[place].n_passed < UINT8_MAX)
                        s->blocks[place].n_passed--;
        b->address = 0;
        s->n--;
        t->n--;
        if (unlikely(s->n * 8u < s->cap && s->cap > 2 * SEGMENT_MIN))
                table_resize_segment(t, s, segment_cap_for(s->n * 2u));
}
