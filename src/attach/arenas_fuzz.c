/* SPDX-License-Identifier: MIT */
/* Any bytes as the memory of a process, with its C library's variables and two heaps. Whatever they are: no more is free than is held, no more is held than
 * there is, and it is over soon.
 *
 * seeds: src/attach/arenas_seeds
 * covers: src/attach/arenas.c src/attach/memory.c */
#include <stdlib.h>
#include <string.h>

#include "attach/testing/arenas_fake.h"
#include "base/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_READS = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static struct fake f;
        struct fake_reader r = {.fake = &f, .n_reads_left = MAX_READS};
        struct arenas_found found;

        memset(&f, 0, sizeof(f));
        memcpy(&f, data, MIN(n, sizeof(f)));
        if (!fake_read_all(&r, &found))
                return 0;
        if (!found.n_arenas || found.free_bytes > found.held_bytes ||
            found.held_bytes > found.n_arenas * (uint64_t)(sizeof(f.heap) + sizeof(f.other)) ||
            (!found.has_mmapped && (found.n_mmapped || found.mmapped_bytes)) ||
            found.mmapped_bytes > sizeof(f))
                abort();
        return 0;
}
