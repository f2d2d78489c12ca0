/* SPDX-License-Identifier: MIT */
/* What a run of seconds shows of a leak, and what it does not. */
#define TRACE_PATH "short_run_test.silt"
#include "finding/testing/world.h"

/* A cache that fills while the program runs, none of it as old as what is freed; a leak looks the same. What tells is a program that frees
 * all else, or time. */
static void test_cache_that_fills(void **state) {
        static const uint64_t run_ms[] = {1000, 3000, 9000, 20000};
        struct world w = {.random = 83};

        (void)state;
        for (unsigned round = 0; round < 4 * N_ROUNDS; round++) {
                bool is_tidy = round & 1, is_short = round / 2 % 4 < 3;
                const struct finding *x;
                uint64_t every, size;
                uint32_t read;

                begin(&w, round);
                w.step_us = (unsigned)(run_ms[round / 2 % 4] * 1000 / w.n_steps);
                read = frame(&w, w.serve, "read_object", "object.c");
                every = draw(&w, 1, 4);
                size = draw(&w, 4000, 9000);
                for (unsigned i = 0; i < w.n_steps; i++) {
                        step(&w);
                        for (uint64_t k = 0; k < 4; k++)
                                if (k % every == 0)
                                        keep(&w, read, size);
                                else
                                        release(&w, alloc(&w, read, size));
                }
                for (size_t i = 0; is_tidy && i < w.table.n; i++)
                        release(&w, w.table.items[i]);
                end(&w);
                none(&w, "leak");
                x = first(&w, "growing", "read_object");
                assert_int_equal(x->bytes, w.kept_bytes);
                if (!strstr(x->text, "too short to tell a leak from a cache that fills") !=
                            (is_tidy || !is_short) ||
                    !strstr(x->text, "growing by") != (!is_tidy && is_short))
                        complain(&w, "doubt where there is none, or none where there is");
                if (!is_tidy && is_short)
                        assert_int_equal(x->severity, FINDING_WORTH_KNOWING);
                done(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_cache_that_fills)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
