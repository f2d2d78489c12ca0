/* SPDX-License-Identifier: MIT */
/* What holders_fuzz begins with: graphs by chance, asked in every way. */
#include <stdio.h>

#include "base/vec.h"
#include "keep/testing/graph_trace.h"

enum { N_SEEDS = 64 };

int main(int argc, char **argv) {
        for (uint64_t i = 0; argc == 2 && i < N_SEEDS; i++) {
                struct draw d = draw_from(i);
                bytes_buf bytes = {0};
                char path[4096];
                FILE *f;

                graph_trace_draw(&d, &bytes);
                buf_u8(&bytes, (uint8_t)(i * 5));
                snprintf(path, sizeof(path), "%s/%u", argv[1], (unsigned)i);
                f = fopen(path, "w");
                if (!f || fwrite(bytes.items, 1, bytes.n, f) != bytes.n || fclose(f) != 0)
                        return 1;
                vec_free(&bytes);
        }
        return argc != 2;
}
