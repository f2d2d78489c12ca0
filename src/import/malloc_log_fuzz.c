/* SPDX-License-Identifier: MIT */
/* Any bytes as a log of mtrace, and as one of ltrace.
 *
 * seeds: src/import/malloc_log_seeds
 * covers: src/import/mtrace.c src/import/ltrace.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_mtrace, data, n);
        import_fuzz_one(&import_ltrace, data, n);
        return 0;
}
