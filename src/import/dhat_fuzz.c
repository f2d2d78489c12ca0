/* SPDX-License-Identifier: MIT */
/* Any bytes as a DHAT profile.
 *
 * seeds: src/import/dhat_seeds
 * covers: src/import/dhat.c src/import/json_reader.c src/import/import_frames.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_dhat, data, n);
        return 0;
}
