/* SPDX-License-Identifier: MIT */
/* Any bytes as a capture of memray.
 *
 * seeds: src/import/memray_import_seeds
 * covers: src/import/memray.c src/import/python_lines.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_memray, data, n);
        return 0;
}
