/* SPDX-License-Identifier: MIT */
/* What fuzzing of graphs begins with: some by chance, as a trace has them. */
#include <stdio.h>

#include "reach/testing/drawn_heap.h"

enum { N_SEEDS = 40 };

int main(int argc, char **argv) {
        for (uint64_t i = 0; argc == 2 && i < N_SEEDS; i++) {
                struct draw d = draw_from(i);
                struct heap_graph h;
                bytes_buf bytes = {0};
                char path[4096];
                FILE *f;

                drawn_heap_make(&d, &h);
                heap_graph_encode(&h, &bytes);
                heap_graph_encode_places(h.places, h.n_places, &bytes);
                snprintf(path, sizeof(path), "%s/%u", argv[1], (unsigned)i);
                f = fopen(path, "w");
                if (!f || fwrite(bytes.items, 1, bytes.n, f) != bytes.n || fclose(f) != 0)
                        return 1;
                heap_graph_done(&h);
                vec_free(&bytes);
        }
        return argc != 2;
}
