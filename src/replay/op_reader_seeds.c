/* SPDX-License-Identifier: MIT */
/* What fuzzing of op streams begins with: whole ones, of operations by chance. */
#include <stdio.h>
#include <stdlib.h>

#include "replay/op_writer.h"

enum { N_SEEDS = 20, N_OPS = 60 };

static struct op draw(uint32_t *n_slots, uint32_t *n_threads, uint32_t *turn) {
        struct op op = {.tag = (enum op_tag)(1 + rand() % (OP_N_TAGS - 1))};

        op.size_bytes = (uint64_t)rand() >> rand() % 30;
        op.touched_bytes = op.tag == OP_REALLOC ? op.size_bytes : op.size_bytes / 2;
        op.time_us = (uint64_t)rand() % 100000;
        if (op.tag == OP_THREAD) {
                op.thread = *turn = (uint32_t)rand() % (*n_threads + 1);
                *n_threads += op.thread == *n_threads;
        } else if (op.tag == OP_THREAD_END && (*n_threads < 2 || *turn == 1)) {
                op.tag = OP_TIME;
        } else if (op.tag == OP_THREAD_END) {
                op.thread = 1;
        } else if (op.tag == OP_ALLOC || op.tag == OP_ALLOC_PART || !*n_slots) {
                op.tag = op.tag == OP_ALLOC_PART ? OP_ALLOC_PART : OP_ALLOC;
                op.slot = (*n_slots)++;
        } else {
                op.slot = (uint32_t)rand() % *n_slots;
        }
        return op;
}

int main(int argc, char **argv) {
        for (unsigned i = 0; argc == 2 && i < N_SEEDS; i++) {
                static struct op_writer w;
                uint32_t n_slots = 0, n_threads = 1, turn = 0;
                char path[4096];
                FILE *f;

                srand(i + 1);
                op_writer_begin(&w);
                for (unsigned k = 0; k < N_OPS; k++) {
                        struct op op = draw(&n_slots, &n_threads, &turn);

                        op_writer_put(&w, &op);
                }
                op_writer_put(&w, &(struct op){.tag = OP_END});
                snprintf(path, sizeof(path), "%s/%u", argv[1], i);
                f = fopen(path, "w");
                if (!f || fputc((int)(i * 9), f) == EOF || fwrite(w.buf, 1, w.n, f) != w.n ||
                    fclose(f) != 0)
                        return 1;
        }
        return argc != 2;
}
