/* SPDX-License-Identifier: MIT */
/* The shared table: what is put is what is got, by many threads at once, across generations. */

#include "unwind/rowtab.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_THREADS = 4, N_ROUNDS = 200000, N_KEYS = 3000 };

static unsigned n_maps;
static bool is_out_of_memory;

static void *map_pages(size_t size_bytes) {
        n_maps++;
        return is_out_of_memory ? NULL : calloc(1, size_bytes);
}

/* The only row a key ever has in a generation: any other is a mixture. */
static row_t row_for(uint64_t generation, uint64_t key) {
        return row_make(ROW_FP_SAVED, (int64_t)(key % 1000) * 16, -(int64_t)(key % 64) * 8,
                        -(int64_t)(generation % 512) * 8);
}

static void test_put_then_get(void **state) {
        uint64_t g = rowtab_generation();

        assert_int_equal(rowtab_get(g, 0x1000), 0);
        rowtab_put(g, 0x1000, row_for(g, 0x1000));
        assert_int_equal(rowtab_get(g, 0x1000), row_for(g, 0x1000));
        assert_int_equal(rowtab_get(g, 0x1001), 0);
        assert_int_equal(rowtab_get(g + 1, 0x1000), 0);
}

static void test_a_new_generation_is_empty(void **state) {
        uint64_t g = rowtab_generation();

        rowtab_put(g, 0x2000, row_for(g, 0x2000));
        rowtab_set_announced(g, 0x10000);
        assert_true(rowtab_is_announced(g, 0x10000));
        rowtab_next_generation();
        assert_int_equal(rowtab_generation(), g + 1);
        assert_int_equal(rowtab_get(g + 1, 0x2000), 0);
        assert_false(rowtab_is_announced(g + 1, 0x10000));
}

#ifndef SILT_TINY
/* Without memory it stays small and works; with memory it grows and forgets nothing. */
static void test_growth(void **state) {
        uint64_t g = rowtab_generation();
        unsigned n_there = 0, n_maps_before = n_maps;

        is_out_of_memory = true;
        for (uint64_t i = 0; i < 4000; i++)
                rowtab_put(g, 0x500000 + i * 20, row_for(g, i));
        assert_int_equal(n_maps, n_maps_before + 1); /* asks again only after as many puts */
        rowtab_next_generation();
        is_out_of_memory = false;
        for (uint64_t i = 0; i < 60000; i++)
                rowtab_put(g + 1, 0x500000 + i * 20, row_for(g, i));
        for (uint64_t i = 0; i < 60000; i++) {
                row_t row = rowtab_get(g + 1, 0x500000 + i * 20);

                assert_true(row == 0 || row == row_for(g, i));
                n_there += row != 0;
        }
        assert_int_equal(n_maps, n_maps_before + 3); /* 4,096 entries, 16,384, 65,536 */
        assert_true(n_there > 50000);
}
#endif

static void *hammer(void *arg) {
        uint64_t rng = (uint64_t)arg * 7919 + 88172645463325252u;
        uint64_t n_wrong = 0;

        for (unsigned i = 0; i < N_ROUNDS; i++) {
                uint64_t g = rowtab_generation(), key;
                row_t row;

                rng ^= rng << 13;
                rng ^= rng >> 7;
                rng ^= rng << 17;
                key = 0x400000 + rng % N_KEYS * 4;
                row = rowtab_get(g, key);
                n_wrong += row != 0 && row != row_for(g, key);
                if (row == 0)
                        rowtab_put(g, key, row_for(g, key));
                if (arg == NULL && i % 5000 == 0)
                        rowtab_next_generation();
        }
        return (void *)n_wrong;
}

static void test_no_mixture_under_races(void **state) {
        pthread_t threads[N_THREADS];

        for (uint64_t i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
        for (unsigned i = 0; i < N_THREADS; i++) {
                void *n_wrong;

                pthread_join(threads[i], &n_wrong);
                assert_null(n_wrong);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_put_then_get),
                cmocka_unit_test(test_a_new_generation_is_empty),
#ifndef SILT_TINY
                cmocka_unit_test(test_growth),
#endif
                cmocka_unit_test(test_no_mixture_under_races),
        };

        if (rowtab_generation() != 0)
                return 1;
        rowtab_init(map_pages);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
