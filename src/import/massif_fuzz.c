/* SPDX-License-Identifier: MIT */
/* Any bytes as a massif profile, or as an xtree in its form.
 *
 * seeds: src/import/massif_seeds
 * covers: src/import/massif.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(import_xtree.matches(data, n) ? &import_xtree : &import_massif, data, n);
        return 0;
}
