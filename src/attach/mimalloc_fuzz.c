/* SPDX-License-Identifier: MIT */
/* A mimalloc's memory with any words of it exchanged: a byte says which version, then a place and a value each. Whatever they are: no more is in use than is
 * held, no more is held than there is, and it is over soon.
 *
 * seeds: src/attach/mimalloc_seeds
 * covers: src/attach/mimalloc.c
 * covers: src/attach/mimalloc_blocks.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/mimalloc_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 12, MAX_LIST_READS = 4000 };

/* The blocks are no more than what is in use, and where memory is. */
static void check_list(struct mi_fake *f) {
        struct mi_reader for_sums = {.fake = f, .n_reads_left = MAX_LIST_READS},
                         for_list = {.fake = f, .n_reads_left = MAX_LIST_READS};
        struct mimalloc_found found;
        struct heap_list list = {0};
        uint64_t bytes = 0;

        if (!mi_list(&for_list, &list) && list.blocks.n)
                abort();
        for (size_t i = 0; i < list.blocks.n; i++) {
                bytes += list.blocks.items[i].size_bytes;
                if (list.blocks.items[i].address < MI_FIRST ||
                    list.blocks.items[i].address + list.blocks.items[i].size_bytes >
                            MI_HUGE + 4 * MI_SEGMENT_BYTES)
                        abort();
        }
        if (list.blocks.n && (!mi_read(&for_sums, &found) || bytes > found.used_bytes))
                abort();
        heap_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct mi_fake f;
        struct mi_reader r = {.fake = &f, .n_reads_left = MAX_READS};
        struct mimalloc_found found;

        if (!n)
                return 0;
        mi_fill(&f, data[0] % MI_N_VERSIONS);
        for (size_t i = 1; i + 10 <= n; i += 10) {
                uint16_t word;

                memcpy(&word, data + i, sizeof(word));
                memcpy((uint8_t *)&f + word % (sizeof(f) / 8) * 8, data + i + 2, 8);
        }
        if (mi_read(&r, &found) ? !found.n_segments || found.used_bytes > found.held_bytes ||
                                          found.held_bytes > 8 * MI_SEGMENT_BYTES
                                : found.n_segments || found.held_bytes || found.used_bytes)
                abort();
        check_list(&f);
        return 0;
}
