/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "verify/verify_state.h"

enum { SEQ_BITS = 40 };

/* Never 0. A trace with 2^24 processes or 2^40 allocations would make two blocks look alike. */
static uint64_t live_key(uint32_t process, uint64_t seq) {
        return ((uint64_t)process << SEQ_BITS ^ seq) + 1;
}

static struct verify_block *live_place(struct verify_live *l, uint64_t key) {
        size_t i = map_hash(key) & (l->cap - 1);

        while (l->blocks[i].key && l->blocks[i].key != key)
                i = (i + 1) & (l->cap - 1);
        return &l->blocks[i];
}

static void live_grow(struct verify_live *l) {
        struct verify_live bigger = {.cap = l->cap ? l->cap * 2 : 1024, .n = l->n};

        bigger.blocks = calloc(bigger.cap, sizeof(*bigger.blocks));
        if (!bigger.blocks) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        for (size_t i = 0; i < l->cap; i++)
                if (l->blocks[i].key)
                        *live_place(&bigger, l->blocks[i].key) = l->blocks[i];
        free(l->blocks);
        *l = bigger;
}

struct verify_block *verify_live_find(struct verify_live *l, uint32_t process, uint64_t seq) {
        struct verify_block *b;

        if (!l->cap)
                return NULL;
        b = live_place(l, live_key(process, seq));
        return b->key ? b : NULL;
}

struct verify_block *verify_live_add(struct verify_live *l, uint32_t process, uint64_t seq) {
        struct verify_block *b;

        if (l->n * 4 >= l->cap * 3)
                live_grow(l);
        b = live_place(l, live_key(process, seq));
        l->n += b->key == 0;
        b->key = live_key(process, seq);
        return b;
}

void verify_live_remove(struct verify_live *l, struct verify_block *b) {
        size_t hole = (size_t)(b - l->blocks), mask = l->cap - 1;

        for (size_t i = (hole + 1) & mask; l->blocks[i].key; i = (i + 1) & mask) {
                size_t home = map_hash(l->blocks[i].key) & mask;

                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        l->blocks[hole] = l->blocks[i];
                        hole = i;
                }
        }
        l->blocks[hole].key = 0;
        l->n--;
}

void verify_live_done(struct verify_live *l) {
        free(l->blocks);
}
