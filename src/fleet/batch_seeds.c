/* SPDX-License-Identifier: MIT */
/* Writes the seeds of batch_fuzz: a file of the spool, and what it holds.
 *
 *   batch_seeds FOLDER */
#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "fleet/testing/toy_batch.h"

enum { HEAD_BYTES = 40 };

static void write_seed(const char *folder, const char *name, const void *bytes, size_t n) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        f = fopen(path, "wb");
        if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
                abort();
}

int main(int argc, char **argv) {
        struct fleet_batch *b = toy_batch(7);
        bytes_buf file = {0};
        static uint8_t raw[1 << 16];
        size_t n;

        if (argc < 2)
                return 2;
        fleet_batch_add_loss(b, &(struct fleet_loss){.service = "checkout",
                                                     .host = "web-1",
                                                     .why = "the spool was full",
                                                     .n_snapshots = 3});
        fleet_batch_pack(b, &file);
        n = ZSTD_decompress(raw, sizeof(raw), file.items + HEAD_BYTES, file.n - HEAD_BYTES);
        if (ZSTD_isError(n))
                abort();
        write_seed(argv[1], "file", file.items, file.n);
        write_seed(argv[1], "unpacked", raw, n);
        fleet_batch_free(b);
        vec_free(&file);
        return 0;
}
