/* SPDX-License-Identifier: MIT */
/* Any bytes as a time profile of Instruments.
 *
 * seeds: src/import/instruments_seeds
 * covers: src/import/instruments.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_instruments, data, n);
        return 0;
}
