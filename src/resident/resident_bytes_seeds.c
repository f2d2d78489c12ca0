/* SPDX-License-Identifier: MIT */
/* What fuzzing of bills begins with: some by chance, as a trace has them. */
#include <stdio.h>
#include <stdlib.h>

#include "resident/resident_bytes.h"
#include "resident/testing/drawn_resident.h"

enum { N_SEEDS = 40 };

int main(int argc, char **argv) {
        for (uint64_t i = 0; argc == 2 && i < N_SEEDS; i++) {
                bytes_buf bytes = {0};
                struct resident r;
                char path[4096];
                FILE *f;

                drawn_resident(&r, i);
                resident_encode(&r, &bytes);
                snprintf(path, sizeof(path), "%s/%u", argv[1], (unsigned)i);
                f = fopen(path, "w");
                if (!f || fwrite(bytes.items, 1, bytes.n, f) != bytes.n || fclose(f) != 0)
                        return 1;
                resident_done(&r);
                vec_free(&bytes);
        }
        return argc != 2;
}
