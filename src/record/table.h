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
        uint16_t flags; /* the owner's */
};
_Static_assert(sizeof(struct block) == 32, "two blocks to a cache line");

#define BLOCK_MAX_BYTES (((uint64_t)1 << 48) - 1)

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
        uint64_t h = (address >> 4 ^ address << 60) * 0x9e3779b97f4a7c15ull;

        return (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
}

static inline uint32_t table_segment_of(const struct table *t, uint64_t hash) {
        return t->directory[t->depth ? hash >> (64 - t->depth) : 0];
}

/* The leading bits choose the segment, the low 32 the place in it. */
static inline uint32_t table_home(const struct table_segment *s, uint64_t hash) {
        return (uint32_t)((hash & 0xffffffff) * s->cap >> 32);
}

static inline void table_prefetch(const struct table *t, uint64_t address) {
        if (t->directory) {
                uint64_t hash = table_hash(address);
                const struct table_segment *s = &t->segments.items[table_segment_of(t, hash)];

                __builtin_prefetch(&s->blocks[table_home(s, hash)], 1);
        }
}

/* NULL when missing. Valid until the next add or remove. */
struct block *table_find(const struct table *t, uint64_t address);

/* The block of this address, added (zeroed but for its address) when missing. address is not 0. */
struct block *table_add(struct table *t, uint64_t address, bool *ret_added);

/* b: from find or add. */
void table_remove(struct table *t, struct block *b);

/* For walking all blocks: those of segment i, in no order, free places among them. */
static inline const struct table_segment *table_segment_at(const struct table *t, size_t i) {
        return &t->segments.items[i];
}
