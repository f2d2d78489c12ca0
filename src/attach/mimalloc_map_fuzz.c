/* SPDX-License-Identifier: MIT */
/* A mimalloc 3's memory with any words of it exchanged: a place and a value each. Whatever they are: blocks are where memory is, and no more than there is.
 *
 * covers: src/attach/mimalloc_map.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/mimalloc_map_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct mm_fake f;
        struct heap_list list = {0};
        uint64_t bytes = 0;

        mm_fill(&f);
        for (size_t i = 0; i + 10 <= n; i += 10) {
                uint16_t word;

                memcpy(&word, data + i, sizeof(word));
                memcpy((uint8_t *)&f + word % (sizeof(f) / 8) * 8, data + i + 2, 8);
        }
        if (!mm_list(&f, &list) && list.blocks.n + list.own.n + list.frees.n)
                abort();
        for (size_t i = 0; i < list.blocks.n; i++) {
                const struct heap_block *b = &list.blocks.items[i];

                bytes += b->size_bytes;
                if (b->address < MM_BASE || b->address > MM_END ||
                    b->size_bytes > MM_END - b->address)
                        abort();
        }
        if (bytes > MM_END - MM_BASE)
                abort();
        heap_list_done(&list);
        return 0;
}
