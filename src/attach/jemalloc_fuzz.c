/* SPDX-License-Identifier: MIT */
/* A jemalloc's memory with any words of it exchanged: a byte says which version and machine, then a place and a value each. Whatever they are: no more is in use
 * than is held, no more is held than there is, and it is over soon.
 *
 * seeds: src/attach/jemalloc_seeds
 * covers: src/attach/jemalloc.c
 * covers: src/attach/jemalloc_blocks.c src/attach/jemalloc_tables.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/jemalloc_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 12, MAX_LIST_READS = 600 };

/* The blocks are what is in use, and where memory is. */
static void check_list(struct je_fake *f) {
        struct je_reader for_sums = {.fake = f, .n_reads_left = MAX_LIST_READS},
                         for_list = {.fake = f, .n_reads_left = MAX_LIST_READS};
        struct jemalloc_found found;
        struct heap_list list = {0};
        uint64_t bytes = 0;

        if (!je_read(&for_sums, &found))
                return; /* so it would not be listed */
        if (je_list(&for_list, &list) != (list.blocks.n > 0))
                abort();
        for (size_t i = 0; i < list.blocks.n; i++) {
                bytes += list.blocks.items[i].size_bytes;
                if (list.blocks.items[i].address < JE_HEAP ||
                    list.blocks.items[i].address + list.blocks.items[i].size_bytes >
                            JE_OTHER + JE_HEAP_BYTES)
                        abort();
        }
        if (bytes > found.used_bytes)
                abort();
        heap_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct je_fake f;
        struct je_reader r = {.fake = &f, .n_reads_left = MAX_READS};
        struct jemalloc_found found;
        struct je_config c;

        if (!n)
                return 0;
        c = je_config_at(data[0]);
        je_fill(&f, &c);
        je_fill_tree(&f, &c);
        for (size_t i = 1; i + 10 <= n; i += 10) {
                uint16_t word;

                memcpy(&word, data + i, sizeof(word));
                memcpy(je_word(&f, word), data + i + 2, 8);
        }
        if (je_read(&r, &found) ? !found.n_arenas || found.used_bytes > found.held_bytes ||
                                          found.held_bytes > 2 * JE_HEAP_BYTES
                                : found.n_arenas || found.held_bytes || found.used_bytes)
                abort();
        check_list(&f);
        return 0;
}
