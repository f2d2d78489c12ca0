/* SPDX-License-Identifier: MIT */
/* Address → block: a hash table without long pauses. Extendible hashing over small segments: a full segment
 * grows by an eighth of the largest, and the largest splits in two; nothing else ever moves. A step
 * touches at most TABLE_SEGMENT_MAX blocks (about 2 µs). Three places in five are taken at most, so that few buckets
 * overflow: a block costs 55 to 64 bytes.
 *
 * A segment is a row of buckets of four blocks: two cache lines, fetched together. A block that finds its bucket full
 * goes into the next one with room; every bucket counts how many blocks passed it by, so that a search stops where
 * nothing did, and a removal leaves nothing behind.
 *
 * Adding to one table or removing from it may move blocks of any other (slab.h): pointers to blocks hold until then. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/vec.h"

enum { TABLE_SEGMENT_MAX = 256, TABLE_BUCKET = 4 };

/* A live block. 48 bits of size and number: 256 TiB, 2.8e14 blocks. 24 bits of time in µs: ages up to 16.7 s; of older
 * ones pairing.c knows by their number that they are. */
struct block {
        uint64_t address; /* 0: this place is free */
        uint32_t site;    /* that allocated it, maybe in an ancestor process */
        uint32_t seq_lo, size_lo;
        uint32_t
                thread_time; /* the lowest 16 bits of the thread that allocated it, and of the time */
        uint16_t seq_hi, size_hi;
        uint8_t time_hi;
        uint8_t n_passed; /* the place's, not the block's: in a bucket's first, blocks that went further */
        uint16_t
                bits; /* BLOCK_FLAGS: the owner's; the rest: part of the address's hash, the table's */
};
_Static_assert(sizeof(struct block) == 32, "two blocks to a cache line");

#define BLOCK_FLAGS 3u
#define BLOCK_MAX_BYTES (((uint64_t)1 << 48) - 1)
#define BLOCK_MAX_AGE_US (((uint64_t)1 << 24) - 1)

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

/* Modulo BLOCK_MAX_AGE_US + 1. */
static inline uint64_t block_age_us(const struct block *b, uint64_t now_us) {
        return (now_us - (b->thread_time >> 16 | (uint64_t)b->time_hi << 16)) & BLOCK_MAX_AGE_US;
}

/* Everything of a block but what belongs to its place. */
static inline void block_copy(struct block *to, const struct block *from) {
        uint8_t n_passed = to->n_passed;

        *to = *from;
        to->n_passed = n_passed;
}

static inline uint16_t block_thread(const struct block *b) {
        return (uint16_t)b->thread_time;
}

static inline void block_set(struct block *b, uint32_t site, uint64_t seq, uint64_t size_bytes,
                             uint32_t thread, uint64_t time_us) {
        b->site = site;
        b->seq_lo = (uint32_t)seq;
        b->seq_hi = (uint16_t)(seq >> 32);
        b->size_lo = (uint32_t)size_bytes;
        b->size_hi = (uint16_t)(size_bytes >> 32);
        b->thread_time = (uint16_t)thread | (uint32_t)time_us << 16;
        b->time_hi = (uint8_t)(time_us >> 16);
}

struct table_segment {
        union {
                struct block *blocks;
                void *memory; /* the same, as the slab knows it */
        };
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

/* The first place of the bucket where a block belongs. */
static inline uint32_t table_home(const struct table_segment *s, uint16_t bits) {
        return (uint32_t)((uint64_t)(bits & ~BLOCK_FLAGS) * (s->cap / TABLE_BUCKET) >> 16) *
               TABLE_BUCKET;
}

/* The compiler takes a function that does nothing but prefetch for no work at all, and leaves out its calls. */
static inline void table_prefetch(const struct table *t, uint64_t address) {
        uint64_t hash = table_hash(address);
        const struct table_segment *s;
        const struct block *home;

        if (unlikely(!t->directory))
                return;
        s = &t->segments.items[table_segment_of(t, hash)];
        home = &s->blocks[table_home(s, table_part(hash))];
        __asm__ volatile("" ::"r"(home));
        __builtin_prefetch(home, 1);
        __builtin_prefetch(home + 2, 1);
}

/* Which of a bucket's blocks have this address: a bit each. Which one it is nobody can predict, so no branches. */
static inline unsigned table_match(const struct block *bucket, uint64_t address) {
        unsigned bits = 0;

        for (int i = 0; i < TABLE_BUCKET; i++)
                bits |= (unsigned)(bucket[i].address == address) << i;
        return bits;
}

/* Looks for address from the bucket at `place` on; NULL: not there. */
static inline struct block *table_probe(const struct table_segment *s, uint64_t address,
                                        uint32_t place) {
        for (uint32_t n = 0; n < s->cap; n += TABLE_BUCKET) {
                struct block *b = &s->blocks[place];
                unsigned match = table_match(b, address);

                if (match)
                        return &b[__builtin_ctz(match)];
                if (likely(b->n_passed == 0))
                        return NULL;
                place = place + TABLE_BUCKET == s->cap ? 0 : place + TABLE_BUCKET;
        }
        return NULL;
}

/* NULL when missing. Valid until the next add or remove, in any table. */
static inline struct block *table_find(const struct table *t, uint64_t address) {
        uint64_t hash = table_hash(address);
        const struct table_segment *s;

        if (t->n == 0)
                return NULL;
        s = &t->segments.items[table_segment_of(t, hash)];
        return table_probe(s, address, table_home(s, table_part(hash)));
}

/* The block of this address, added (zeroed but for its address) when missing. address is not 0. */
struct block *table_add(struct table *t, uint64_t address, bool *ret_added);

/* b: from find or add. */
void table_remove(struct table *t, struct block *b);

static inline bool table_segment_is_full(const struct table_segment *s) {
        return s->n * 5u >= s->cap * 3u;
}

/* For walking all blocks: those of segment i, in no order, free places among them. */
static inline const struct table_segment *table_segment_at(const struct table *t, size_t i) {
        return &t->segments.items[i];
}
