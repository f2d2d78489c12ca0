/* SPDX-License-Identifier: MIT */
/* The memory of a process whose malloc has blocks of every kind, made by hand: for tests, and for the fuzzer. */
#pragma once

#include "attach/malloc_heap.h"
#include "attach/testing/arenas_fake.h"

enum { HEAP_FAKE_MAPPED_WORDS = 1024, HEAP_FAKE_BLOCKS = 7 };

#define FAKE_MAPPED 0x7f0010000000u /* two blocks that are mappings, joined */

struct heap_fake {
        struct fake arenas;
        uint64_t mapped[HEAP_FAKE_MAPPED_WORDS];
};

void heap_fake_fill(struct heap_fake *f);

/* In use, in the order of addresses. */
extern const struct malloc_block heap_fake_blocks[HEAP_FAKE_BLOCKS];

/* What malloc_heap_walk() takes. n_reads_left is the reader's. */
struct heap_fake_reader {
        struct heap_fake *fake;
        unsigned n_reads_left;
};
struct malloc_memory heap_fake_memory(struct heap_fake_reader *r);
