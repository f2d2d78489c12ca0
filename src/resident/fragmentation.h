/* SPDX-License-Identifier: MIT */
/* Memory that is free and still resident, as an answer: how much, why, and whose blocks keep it (docs/bill.md, "Fragmentation"). */
#pragma once

#include "base/str.h"
#include "resident/resident.h"

/* Functions are told apart by numbers: of two call paths of one function the same. */
struct fragmentation_keys {
        uint64_t (*key_of_stack)(void *ctx, uint32_t stack); /* NULL: each call path is its own */
        void *ctx;
};

/* Whose live blocks keep free memory: those in pages that few live bytes hold, by the function with most of these pages; where most free memory is in
 * fuller pages, the function with most bytes in them; where it is whole pages, the block behind the largest stretch of them. */
enum fragmentation_why {
        FRAGMENTATION_NONE, /* nobody in particular */
        FRAGMENTATION_PINNED,
        FRAGMENTATION_MIXED,
        FRAGMENTATION_BELOW,
};

struct fragmentation {
        uint64_t resident_bytes, heap_bytes, live_bytes, between_bytes, empty_bytes;
        uint64_t n_pinned_pages; /* by anybody */
        enum fragmentation_why why;
        uint32_t stack; /* of it the one with most; 0: unknown */
        uint64_t n_pages, n_alone, n_blocks,
                block_bytes; /* of the function: pages, of these with one block; blocks in them */
        uint64_t kept_bytes; /* free, in these pages, or in the stretch */
        bool has_books;      /* they tell of all free pages, so what can be given back is known: */
        uint64_t releasable_bytes;
        bool has_arenas;       /* of glibc, beside the main one */
        const char *allocator; /* as it is called; "" unknown. Of the look */
};

/* Figures of one look; keeps nothing but the allocator's name. */
struct fragmentation fragmentation_of(const struct resident *r,
                                      const struct fragmentation_keys *keys);

static inline uint64_t fragmentation_kept_bytes(const struct fragmentation *f) {
        return f->between_bytes + f->empty_bytes;
}

/* So much that it is the thing to tell. */
bool fragmentation_is_material(const struct fragmentation *f);

/* "The heap is 4.1 times live: 310 MiB are free blocks between live ones; 88 % of the pinned pages hold one block each of …". function and place:
 * of the call path; NULL or "": unknown. */
void fragmentation_add_words(const struct fragmentation *f, const char *function, const char *place,
                             struct str *to);
