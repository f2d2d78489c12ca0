/* SPDX-License-Identifier: MIT */
/* Any bytes as a CPU profile of gperftools.
 *
 * seeds: src/import/cpu_profile_seeds
 * covers: src/import/cpu_profile.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_cpu_profile, data, n);
        return 0;
}
