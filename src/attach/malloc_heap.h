/* SPDX-License-Identifier: MIT */
/* What the C library's malloc has in a process that stands still (frozen.h): where its own variables are, and its blocks, from the headers of its chunks. Sizes are
 * what a block can hold: what was requested is not known. What is read may be anything: every word is checked before it is used. */
#pragma once

#include "attach/arenas.h"
#include "attach/heap_list.h"
#include "attach/target.h"

struct malloc_block {
        uint64_t address, size_bytes;
};

struct malloc_heap {
        arena_places arenas;
        VEC(struct malloc_block) blocks; /* in no order */
        heap_frees frees;                /* by address; then the rest, which has none */
        uint32_t n_unknown_mapped;       /* blocks that are a mapping each, and were not found */
        uint64_t unwalked_bytes; /* of arenas: what lies behind a header that makes no sense */
};

/* What it is read from. */
struct malloc_memory {
        struct memory memory;
        struct memory_span brk; /* the heap that grows by brk; empty: there is none */
        uint64_t addr;          /* the C library's variables are there, and */
        const uint64_t *data;   /* these */
        size_t n_words;
};

/* The main arena's variables are among the C library's. False: no malloc of glibc's was recognised. wants_blocks: else its arenas alone. */
bool malloc_heap_read(struct malloc_heap *h, pid_t pid, int mem_fd, bool wants_blocks);
bool malloc_heap_walk(struct malloc_heap *h, const struct malloc_memory *m, bool wants_blocks);
void malloc_heap_done(struct malloc_heap *h);
