/* SPDX-License-Identifier: MIT */
/* Address → block: a hash table without long pauses. Extendible hashing over small segments: a full segment
 * grows by an eighth of the largest, and the largest splits in two; nothing else ever moves. A step
 * touches at most TABLE_SEGMENT_MAX blocks (about 2 µs), a block costs 40 to 50 bytes, a look-up one cache miss. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { TABLE_SEGMENT_MAX = 256 };

/* A live block. 48 bits of size, number and time (µs): 256 TiB, 2.8e14 blocks, 8 years. */
struct block {
        uint64_t address; /* 0: this place is free */
        uint32_t site;    /* that allocated it, maybe in an ancestor process */
        uint32_t seq_lo, size_lo, time_lo;
        uint16_t seq_hi, size_hi, time_hi;
        uint16_t
                bits; /* BLOCK_FLAGS: the owner's; the rest: part of the address's hash, the table's */
};
_Static_assert(sizeof(struct block) == 32, "two blocks to a cache line");

#define BLOCK_FLAGS 3u
#define BLOCK_MAX_BYTES (((uint64_t)1 << 48) - 1)

static inline uint32_t block_flags(const struct block *b) {
        return b->bits & BLOCK_FLAGS;
}

static inline void block_set_flags(struct block *b, uint32_t flags) {
        b->bits = (uint16_t)((b->bits & ~BLOCK_FLAGS) | flags);
}

static inline uint64_t block_seq(const struct block *b) {
        return b->seq_lo | (uint64_t)b->seq_hi << 32;
}

static inline uint64_t block_size_bytes(const struct block *b) {
        return b->size_lo | (uint64_t)b->size_hi << 32;
}

static inline uint64_t block_time_us(const struct block *b) {
        return b->time_lo | (uint64_t)b->time_hi << 32;
}

static inline void block_set(struct block *b, uint32_t site, uint64_t seq, uint64_t size_bytes,
                             uint64_t time_us) {
        b->site = site;
        b->seq_lo = (uint32_t)seq;
        b->seq_hi = (uint16_t)(seq >> 32);
        b->size_lo = (uint32_t)size_bytes;
        b->size_hi = (uint16_t)(size_bytes >> 32);
        b->time_lo = (uint32_t)time_us;
        b->time_hi = (uint16_t)(time_us >> 32);
}

struct table_segment {
        struct block *blocks;
        uint32_t n, cap;
        uint32_t depth; /* of the hash's leading bits, those that all of it share */
};

struct table {
        uint32_t *directory; /* 2^depth leading bits → segment; NULL while empty */
        uint32_t depth;
        VEC(struct table_segment) segments;
        size_t n, size_bytes;
};

void table_done(struct table *t);

static inline uint64_t table_hash(uint64_t address) {
        uint64_t h = (address ^ address >> 32) * 0x9e3779b97f4a7c15ull;

        return h ^ h >> 32;
}

/* The leading bits choose the segment; BLOCK_FLAGS is free in what is kept of the others. */
static inline uint32_t table_segment_of(const struct table *t, uint64_t hash) {
        return t->directory[hash >> 1 >> (63 - t->depth)];
}

static inline uint16_t table_part(uint64_t hash) {
        return (uint16_t)(hash & ~(uint64_t)BLOCK_FLAGS);
}

/* The place in its segment where a block belongs. */
static inline uint32_t table_home(const struct table_segment *s, uint16_t bits) {
        return (uint32_t)((uint64_t)(bits & ~BLOCK_FLAGS) * s->cap >> 16);
}

/* Where a block was: good for finding it again quickly, never wrong. */
struct table_hint {
        uint32_t segment, place;
};

static inline struct table_hint table_prefetch(const struct table *t, uint64_t address) {
        struct table_hint hint = {0, 0};

        if (likely(t->directory != NULL)) {
                uint64_t hash = table_hash(address);
                const struct table_segment *s;

                hint.segment = table_segment_of(t, hash);
                s = &t->segments.items[hint.segment];
                hint.place = table_home(s, table_part(hash));
                __builtin_prefetch(&s->blocks[hint.place], 1);
                __builtin_prefetch(&s->blocks[hint.place] + 2, 1);
        }
        return hint;
}

/* The place of address in s, from `place` on, or the free place where it belongs. */
static inline uint32_t table_probe(const struct table_segment *s, uint64_t address,
                                   uint32_t place) {
        while (s->blocks[place].address != address && s->blocks[place].address != 0)
                if (++place == s->cap)
                        place = 0;
        return place;
}

/* Goes on from a hint of table_prefetch; afterwards the hint names the block itself. NULL: missing, or the segment has changed
 * too much to tell. */
static inline struct block *table_follow(const struct table *t, uint64_t address,
                                         struct table_hint *hint) {
        const struct table_segment *s;

        if (unlikely(hint->segment >= t->segments.n))
                return NULL;
        s = &t->segments.items[hint->segment];
        if (unlikely(hint->place >= s->cap))
                return NULL;
        hint->place = table_probe(s, address, hint->place);
        return s->blocks[hint->place].address ? &s->blocks[hint->place] : NULL;
}

/* NULL when missing. Valid until the next add or remove. */
static inline struct block *table_find(const struct table *t, uint64_t address) {
        uint64_t hash = table_hash(address);
        const struct table_segment *s;
        uint32_t place;

        if (t->n == 0)
                return NULL;
        s = &t->segments.items[table_segment_of(t, hash)];
        place = table_probe(s, address, table_home(s, table_part(hash)));
        return s->blocks[place].address ? &s->blocks[place] : NULL;
}

/* The block of this address, added (zeroed but for its address) when missing. address is not 0. */
struct block *table_add(struct table *t, uint64_t address, bool *ret_added);

/* b: from find, follow or add. */
void table_remove(struct table *t, struct block *b);

/* For walking all blocks: those of segment i, in no order, free places among them. */
static inline const struct table_segment *table_segment_at(const struct table *t, size_t i) {
        return &t->segments.items[i];
}
