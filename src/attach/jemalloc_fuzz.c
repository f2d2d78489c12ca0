/* SPDX-License-Identifier: MIT */
/* A jemalloc's memory with any words of it exchanged: a byte says which version and machine, then a place and a value each. Whatever they are: no more is in use
 * than is held, no more is held than there is, and it is over soon.
 *
 * seeds: src/attach/jemalloc_seeds
 * covers: src/attach/jemalloc.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/jemalloc_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct je_fake f;
        struct je_reader r = {.fake = &f, .n_reads_left = MAX_READS};
        struct jemalloc_found found;
        struct je_config c;

        if (!n)
                return 0;
        c = je_config_at(data[0]);
        je_fill(&f, &c);
        for (size_t i = 1; i + 10 <= n; i += 10) {
                uint16_t word;

                memcpy(&word, data + i, sizeof(word));
                memcpy((uint8_t *)&f + word % (sizeof(f) / 8) * 8, data + i + 2, 8);
        }
        if (je_read(&r, &found) ? !found.n_arenas || found.used_bytes > found.held_bytes ||
                                          found.held_bytes > 2 * JE_HEAP_BYTES
                                : found.n_arenas || found.held_bytes || found.used_bytes)
                abort();
        return 0;
}
