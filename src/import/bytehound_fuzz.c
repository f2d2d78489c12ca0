/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording of bytehound: as they are, and, since few bytes are blocks of LZ4, as what is in one.
 *
 * seeds: src/import/bytehound_seeds
 * covers: src/import/bytehound.c src/import/bytehound_bytes.c src/import/lz4_block.c */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        uint8_t *packed;
        int n_packed;

        import_fuzz_one(&import_bytehound, data, n);
        if (!n || n > MAX_INPUT)
                return 0;
        packed = malloc(5 + (size_t)LZ4_compressBound((int)n));
        n_packed = LZ4_compress_default((const char *)data, (char *)packed + 5, (int)n,
                                        LZ4_compressBound((int)n));
        packed[0] = 1;
        memcpy(packed + 1, &n_packed, sizeof(n_packed));
        import_fuzz_one(&import_bytehound, packed, 5 + (size_t)n_packed);
        free(packed);
        return 0;
}
