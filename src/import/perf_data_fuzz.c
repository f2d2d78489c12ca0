/* SPDX-License-Identifier: MIT */
/* Any bytes as perf.data. Copies of stacks are walked without the files of this machine.
 *
 * seeds: src/import/perf_data_seeds
 * covers: src/import/perf_data.c src/import/perf_file.c src/import/perf_sample.c src/import/perf_space.c src/import/address_ranges.c
 * covers: src/import/import_ticks.c src/import/sample_events.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_perf_data, data, n);
        return 0;
}
