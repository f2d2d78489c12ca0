/* SPDX-License-Identifier: MIT */
/* Pages against the live blocks that lie in them: what of each page was asked for, what is rounding, header, between blocks; which pages a few small blocks keep.
 *
 * Private memory in which no block lies is an allocator's only if something says so: a block in the same run of pages, now or at an earlier look; of
 * glibc, whose heap or arenas it must lie in. Memory that nobody saw being mapped, and that no block was ever seen in, is nobody's: the bill has it as a remainder.
 *
 * Pages that were given back between the look and the moment of the blocks, and that nobody has now, do not count: neither as the allocator's nor at all.
 *
 * Blocks that lie inside another are a pool's. Their pages are the outer block's, and are counted once. */
#pragma once

#include "resident/block_room.h"
#include "resident/page_set.h"

struct walk_block {
        uint64_t address, size_bytes;
        uint64_t time_ns; /* when it was allocated; 0 unknown */
        uint32_t stack;   /* 0 unknown */
};

struct page_walk {
        const struct page_set *pages;
        enum size_model model;
        struct walk_block *blocks; /* sorted here, and those inside others left out */
        size_t n_blocks;
        const struct smaps_range
                *known; /* where an earlier look saw an allocator's pages; by address */
        size_t n_known;
        struct smaps_range
                *released; /* given back since the pages were read; sorted and joined here */
        size_t n_released;
};

/* Fills heap, pins, cells and what areas know of blocks. Areas are those of the page set; has_blocks and has_asked are the caller's. */
void page_walk(struct resident *r, struct page_walk *w);

/* Blocks that stand for others: live_bytes, estimated, is all that is known. */
void page_walk_estimate(struct resident *r, const struct page_set *pages, uint64_t n_blocks,
                        uint64_t live_bytes);
