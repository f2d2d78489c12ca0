/* SPDX-License-Identifier: MIT */
/* Any bytes as a heap profile of gperftools.
 *
 * seeds: src/import/gperftools_heap_seeds
 * covers: src/import/gperftools_heap.c src/import/heap_dump.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_gperftools_heap, data, n);
        return 0;
}
