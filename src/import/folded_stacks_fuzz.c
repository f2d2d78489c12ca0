/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of folded stacks.
 *
 * seeds: src/import/folded_stacks_seeds
 * covers: src/import/folded_stacks.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_folded, data, n);
        return 0;
}
