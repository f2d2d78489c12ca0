/* SPDX-License-Identifier: MIT */
/* A malloc's memory with any words of it exchanged: a place and a value each. Whatever they are: blocks lie in memory that is there, there are no more of them than
 * fit, no more is told as not walked than there is, and it is over soon.
 *
 * seeds: src/attach/malloc_heap_seeds
 * covers: src/attach/malloc_heap.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/malloc_heap_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 400, MIN_BLOCK_BYTES = 24, MIN_CHUNK_BYTES = 32 };

static void check_block(const struct memory *m, const struct malloc_block *b) {
        for (size_t i = 0; i < m->n_spans; i++)
                if (b->address >= m->spans[i].begin && b->address < m->spans[i].end &&
                    b->size_bytes <= m->spans[i].end - b->address &&
                    b->size_bytes >= MIN_BLOCK_BYTES)
                        return;
        abort();
}

static void check(const struct malloc_heap *h, const struct malloc_memory *m) {
        uint64_t all_bytes = memory_all_bytes(&m->memory);

        if (!h->arenas.n || h->blocks.n > 2 * all_bytes / MIN_CHUNK_BYTES ||
            h->unwalked_bytes > all_bytes)
                abort();
        for (size_t i = 0; i < h->blocks.n; i++)
                check_block(&m->memory, &h->blocks.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct heap_fake f;
        struct heap_fake_reader r = {.fake = &f, .n_reads_left = MAX_READS};
        struct malloc_memory m = heap_fake_memory(&r);
        struct malloc_heap h;

        heap_fake_fill(&f);
        for (size_t i = 0; i + 10 <= n; i += 10) {
                uint16_t word;

                memcpy(&word, data + i, sizeof(word));
                memcpy((uint8_t *)&f + word % (sizeof(f) / 8) * 8, data + i + 2, 8);
        }
        if (malloc_heap_walk(&h, &m, true))
                check(&h, &m);
        else if (h.arenas.n || h.blocks.n)
                abort();
        malloc_heap_done(&h);
        return 0;
}
