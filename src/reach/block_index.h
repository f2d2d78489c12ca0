/* SPDX-License-Identifier: MIT */
/* Address → block. Of every 4 KiB in which blocks may be, how many blocks begin below: the block of an address is among the few that begin in
 * its 4 KiB, or the one before. 1 MiB for each GiB of addresses with blocks. */
#pragma once

#include "reach/reach_graph.h"

enum {
        INDEX_GRANULE_SHIFT = 12,
        INDEX_TABLE_SHIFT = 30, /* addresses of one table */
        INDEX_TOP_BITS = 47 - INDEX_TABLE_SHIFT + 1,
};

struct block_index {
        const struct reach_block *blocks;
        uint32_t n_blocks;
        uint64_t lowest,
                highest;   /* addresses in blocks are within; highest included; of no blocks 0, 0 */
        uint32_t **tables; /* 1 << INDEX_TOP_BITS; NULL: no block there */
};

/* The blocks stay the caller's. 0, -ENOMEM; -EINVAL: they are not sorted, overlap, or are at addresses that no process has. */
int block_index_make(struct block_index *ret, const struct reach_block *blocks, uint32_t n_blocks);
void block_index_done(struct block_index *x);

/* Where in the blocks that begin in a granule an address should be; table: the granule's place. */
static inline uint32_t block_index_guess(const uint32_t *table, uint64_t address) {
        uint64_t part = address & (((uint64_t)1 << INDEX_GRANULE_SHIFT) - 1);

        return table[0] + (uint32_t)((table[1] - table[0]) * part >> INDEX_GRANULE_SHIFT);
}

uint32_t block_index_search(const struct block_index *x, uint64_t address);

/* The block that address is in, first byte to last; one of 0 bytes has its own address. REACH_MAX_BLOCKS: none. */
static inline uint32_t block_index_find(const struct block_index *x, uint64_t address) {
        if (likely(address - x->lowest > x->highest - x->lowest))
                return REACH_MAX_BLOCKS;
        return block_index_search(x, address);
}

/* For whoever knows which addresses will be asked about soon: the table first, and what it leads to once that has come. Most of the time of a search is waiting
 * for these. */
static inline const uint32_t *block_index_place(const struct block_index *x, uint64_t address) {
        const uint32_t *table;

        if (likely(address - x->lowest > x->highest - x->lowest))
                return NULL;
        table = x->tables[address >> INDEX_TABLE_SHIFT];
        return table ? table + (address >> INDEX_GRANULE_SHIFT &
                                (((uint64_t)1 << (INDEX_TABLE_SHIFT - INDEX_GRANULE_SHIFT)) - 1))
                     : NULL;
}

static inline void block_index_await_table(const struct block_index *x, uint64_t address) {
        const uint32_t *place = block_index_place(x, address);

        if (place)
                __builtin_prefetch(place);
}

static inline void block_index_await_blocks(const struct block_index *x, uint64_t address) {
        const uint32_t *place = block_index_place(x, address);
        const struct reach_block *guess;

        if (!place)
                return;
        guess = x->blocks + block_index_guess(place, address);
        __builtin_prefetch(guess);
        __builtin_prefetch(guess - (guess > x->blocks));
}
