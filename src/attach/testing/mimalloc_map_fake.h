/* SPDX-License-Identifier: MIT */
/* Memory as a mimalloc 3 leaves it, made by hand: for tests, and for the fuzzer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/heap_list.h"

enum {
        MM_N_PAGES = 5,
        MM_PAGE_WORDS = 15,
        MM_DATA_WORDS = 8,
        MM_BLOCK_WORDS = 8 * 32, /* of the first page: 32 blocks of 64 bytes */
        MM_N_LINKS = 32,
};

#define MM_BASE UINT64_C(0x7f0000000000)
#define MM_META (MM_BASE + (UINT64_C(1) << 20))
#define MM_AREA (MM_BASE + (UINT64_C(2) << 20))
#define MM_MAP (MM_BASE + (UINT64_C(16) << 20))
#define MM_PART (MM_BASE + (UINT64_C(32) << 20))
#define MM_END (MM_BASE + (UINT64_C(40) << 20))

struct mm_fake {
        uint64_t data[MM_DATA_WORDS]; /* one is the map */
        uint64_t pages[MM_N_PAGES * MM_PAGE_WORDS];
        uint64_t blocks[MM_BLOCK_WORDS];
        uint64_t
                parts[MM_N_LINKS]; /* the first entries of the map's one part, from the areas' on */
        uint64_t map_entry, other_entry; /* the other one is 0 */
};

/* Blocks of 64 bytes, some on each list; of 8 KiB, all in use, in two slices; one of a MiB; some that are all free; one that others gave back. */
void mm_fill(struct mm_fake *f);
enum { MM_N_BLOCKS = 14 + 16 + 1 + 0 + 2, MM_N_BYTES = 14 * 64 + 16 * 8192 + (1 << 20) + 2 * 1024 };

uint64_t *mm_page(struct mm_fake *f, unsigned page);

bool mm_list(struct mm_fake *f, struct heap_list *ret);
