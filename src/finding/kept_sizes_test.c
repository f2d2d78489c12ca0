/* SPDX-License-Identifier: MIT */
/* Of what sizes the blocks are that something keeps which grows. */
#define TRACE_PATH "kept_sizes_test.silt"
#include "finding/testing/world.h"

/* A vector and a short string, from one line: the mean is the size of neither. */
static void test_sizes_are_told_apart(void **state) {
        struct world w = {.random = 36};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t insert;

                begin(&w, round);
                w.n_steps = 300;
                insert = frame(&w, w.serve, "insert_row", "rows.c");
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 4; k++) {
                                keep(&w, insert, 4096);
                                keep(&w, insert, 20 + (i + k) % 20);
                        }
                }
                end(&w);
                first(&w, "growing", "insert_row");
                if (!strstr(w.found->items[0].text, "blocks of 4.0 KiB and ") ||
                    !strstr(w.found->items[0].text, " of 20 B to 39 B") ||
                    strstr(w.found->items[0].text, "per allocation"))
                        complain(&w, "a mean of two sizes");
                done(&w);
        }
}

/* Of about one size the mean says it all. */
static void test_one_size(void **state) {
        struct world w = {.random = 37};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint32_t insert;

                begin(&w, round);
                insert = frame(&w, w.serve, "insert_row", "rows.c");
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (unsigned k = 0; k < 8; k++)
                                keep(&w, insert, round % 2 ? 500 : 400 + i % 200);
                }
                end(&w);
                first(&w, "growing", "insert_row");
                if (!strstr(w.found->items[0].text, " B per allocation, "))
                        complain(&w, "one size is told as several");
                done(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes_are_told_apart),
                cmocka_unit_test(test_one_size),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
