/* SPDX-License-Identifier: MIT */
/* Memory as a C library's malloc leaves it, made by hand: for tests, and for seeds of the fuzzer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/arenas.h"

enum { FAKE_WORDS = 512, FAKE_HEAP_WORDS = 1024, FAKE_PARAMS_WORD = 300, FAKE_ARENA_WORD = 10 };

#define FAKE_DATA 0x7f1200345000u                    /* the C library's variables */
#define FAKE_HEAP 0x555500001000u                    /* the main arena's */
#define FAKE_OTHER 0x7f0000000000u                   /* the heap of another */
#define FAKE_MAIN (FAKE_DATA + 8u * FAKE_ARENA_WORD) /* the main arena */
#define FAKE_THREAD (FAKE_OTHER + 48u)               /* and the other */

struct fake {
        uint64_t data[FAKE_WORDS], heap[FAKE_HEAP_WORDS], other[FAKE_WORDS];
};

/* How it is read. */
struct fake_reader {
        struct fake *fake;
        unsigned n_reads_left;
        unsigned n_reads;
        void (*between)(struct fake *f, unsigned n_reads); /* what the program does meanwhile */
};

/* Both arenas without any chunk, all of their memory in their top. */
void fake_init(struct fake *f);
uint64_t *fake_word(struct fake *f, uint64_t addr);

/* A free chunk, first in its bin (1: unsorted). */
void fake_put(struct fake *f, uint64_t arena, unsigned bin, uint64_t at, uint64_t size);

/* What the library knows of blocks that are mappings; is_new: as since 2.35. */
void fake_put_params(struct fake *f, size_t word, bool is_new, uint32_t n_mmaps, uint64_t bytes);

bool fake_read_all(struct fake_reader *r, struct arenas_found *ret);

/* Every kind of chunk there is, in both arenas: what is free then. */
enum { FAKE_FULL_FREE_CHUNKS = 10 };
uint64_t fake_fill(struct fake *f);
