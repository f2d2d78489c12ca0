/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording of heaptrack, interpreted or raw.
 *
 * seeds: src/import/heaptrack_seeds
 * covers: src/import/heaptrack.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_heaptrack, data, n);
        return 0;
}
