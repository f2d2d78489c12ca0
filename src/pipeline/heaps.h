/* SPDX-License-Identifier: MIT */
/* The heaps of a process that can be released whole (an arena of jemalloc's, a heap of mimalloc's), and the blocks in
 * them: the live table knows blocks by their address alone. About 60 bytes a block, and nothing for programs without such
 * heaps.
 *
 * Single releases are not told: a block is known by its address and number, so that what was handed out there since
 * is not taken for it. When there are twice as many as the last sweep left, those that are gone are swept out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { HEAPS_MIN_SWEEP = 8 }; /* within reach of small inputs */
#else
enum { HEAPS_MIN_SWEEP = 1 << 16 };
#endif

enum heaps_state {
        HEAPS_OPEN = 0,
        HEAPS_RELEASED, /* what is still added to it is gone already */
        HEAPS_KEPT,     /* its blocks are nobody's: each is released by itself */
};

struct heaps_block {
        uint64_t address, seq;
        uint32_t heap; /* 0: none any more */
};

struct heaps_heap {
        uint64_t id;
        enum heaps_state state;
        VEC(uint32_t) members; /* places of blocks that are or were in it */
};

struct heaps {
        struct map by_id; /* → number of the heap that is open under it; 0: none */
        VEC(struct heaps_heap) list;
        struct map places; /* address → place of its latest block */
        VEC(struct heaps_block) blocks;
        size_t n_members, n_swept; /* of all heaps; left by the last sweep */
        struct map
                records; /* address of a heap itself → how many of its releases are still to come */
};

struct heaps *heaps_new(void);
void heaps_free(struct heaps *h); /* NULL ok */
struct heaps *heaps_copy(const struct heaps *h);

/* The heap's number, from 1 on; it is opened when it is not. Holds until the next sweep. */
uint32_t heaps_open(struct heaps *h, uint64_t id);
/* The same; 0: it is not open. */
uint32_t heaps_find(const struct heaps *h, uint64_t id);

/* A block is in the heap. How the heap is: what is closed takes no blocks. */
enum heaps_state heaps_add(struct heaps *h, uint32_t heap, uint64_t address, uint64_t seq);

/* A heap's id may be its address, and its own record a block whose allocation nobody saw: the compiler put it inline. Its
 * release is one of nothing unknown. */
void heaps_add_record(struct heaps *h, uint64_t id);
bool heaps_take_record(struct heaps *h, uint64_t address);

/* The heap that the block was added to; 0: none. */
uint32_t heaps_of(const struct heaps *h, uint64_t address, uint64_t seq);

/* Takes all blocks out of the heap, telling fn (which may be NULL) of each; what fn adds to it stays. Events that wait may still know the heap by its
 * number: then it is closed for good, and the next of this id has another. */
void heaps_empty(struct heaps *h, uint32_t heap,
                 void (*fn)(void *ctx, uint64_t address, uint64_t seq), void *ctx);
void heaps_close(struct heaps *h, uint32_t heap, enum heaps_state state);

/* From now on its id is another's: it is about to be released, and who makes the next may be given the same. */
void heaps_detach(struct heaps *h, uint32_t heap);
/* It was not released; or it was, and can be used again. Its blocks go to the one that has its id by now, if any. */
void heaps_attach(struct heaps *h, uint32_t heap);

static inline bool heaps_wants_sweep(const struct heaps *h) {
        size_t n = h->n_members + h->list.n;

        return n >= HEAPS_MIN_SWEEP && n >= 2 * h->n_swept;
}

/* Forgets all blocks that is_live says no to, and heaps without any. */
void heaps_sweep(struct heaps *h, bool (*is_live)(void *ctx, uint64_t address, uint64_t seq),
                 void *ctx);
