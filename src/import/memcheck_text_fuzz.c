/* SPDX-License-Identifier: MIT */
/* Any bytes as a memcheck log.
 *
 * seeds: src/import/memcheck_text_seeds
 * covers: src/import/memcheck_text.c src/import/leak_records.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_memcheck_text, data, n);
        return 0;
}
