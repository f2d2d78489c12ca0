/* SPDX-License-Identifier: MIT */
/* Any bytes as a heap profile of jemalloc.
 *
 * seeds: src/import/heap_v2_seeds
 * covers: src/import/heap_v2.c src/import/import_maps.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_heap_v2, data, n);
        return 0;
}
