/* SPDX-License-Identifier: MIT */
/* A mimalloc's memory with any words of it exchanged: a byte says which version, then a place and a value each. Whatever they are: no more is in use than is
 * held, no more is held than there is, and it is over soon.
 *
 * seeds: src/attach/mimalloc_seeds
 * covers: src/attach/mimalloc.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/mimalloc_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 12 };

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
        return 0;
}
