/* SPDX-License-Identifier: MIT */
/* Any bytes as a profile of pprof.
 *
 * seeds: src/import/pprof_import_seeds
 * covers: src/import/pprof_import.c src/import/pprof_types.c src/import/protobuf_reader.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_pprof, data, n);
        return 0;
}
