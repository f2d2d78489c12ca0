/* SPDX-License-Identifier: MIT */
/* The young blocks of a process: a small table in front of the large one (block_table.h), since most blocks die young.
 * Each address has one place; whoever needs the place of another sends that one on to the large table. So a block that is
 * released soon costs two looks at one place, and one that stays costs its way into the large table, once.
 *
 * A place also remembers which of its addresses was released last: allocators hand out those again first, and whoever is
 * given one need not look in the large table whether it is live there.
 *
 * Where half of all blocks are sent on, they would better have gone there at once: then they do for a while. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "ledger/block_table.h"

/* 5 KiB and 40 KiB: a process that does little has the first alone. */
enum { NURSERY_FIRST = 128, NURSERY_MAX = 1024 };

struct nursery {
        struct block *blocks; /* address 0: a free place; NULL: no block came yet */
        uint64_t *dead;       /* by place: an address that is surely not live; 0: none is known */
        uint32_t mask;        /* places - 1 */
        uint32_t n_added, n_sent_on; /* since it has this size, or was last judged */
        uint32_t n_to_pass;          /* so many new blocks do not come here */
};

void nursery_start(struct nursery *n);
void nursery_done(struct nursery *n);

static inline size_t nursery_n_places(const struct nursery *n) {
        return n->blocks ? (size_t)n->mask + 1 : 0;
}

/* Neighbours in memory have different places, and so have the first blocks of different pages. */
static inline uint32_t nursery_idx(const struct nursery *n, uint64_t address) {
        return (uint32_t)(address >> 4 ^ address >> 16) & n->mask;
}

/* The block at this address; NULL: it is not young, or not live. */
static inline struct block *nursery_find(const struct nursery *n, uint64_t address) {
        struct block *b;

        if (unlikely(!n->blocks))
                return NULL;
        b = &n->blocks[nursery_idx(n, address)];
        return b->address == address ? b : NULL;
}

/* A block was sent on for want of its place: if that happens often, there are more places from now on, or none. */
void nursery_note_sent_on(struct nursery *n);
