/* SPDX-License-Identifier: MIT */
/* Any bytes as what perf script prints.
 *
 * seeds: src/import/perf_script_seeds
 * covers: src/import/perf_script.c src/import/perf_script_head.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_perf_script, data, n);
        return 0;
}
