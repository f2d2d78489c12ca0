/* SPDX-License-Identifier: MIT */
/* Any bytes as perf.data.
 *
 * seeds: src/import/perf_data_seeds
 * covers: src/import/perf_data.c src/import/perf_file.c src/import/perf_sample.c src/import/import_ticks.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_perf_data, data, n);
        return 0;
}
