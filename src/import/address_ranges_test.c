/* SPDX-License-Identifier: MIT */
#include "import/address_ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_ADDRESSES = 1 << 14, N_ROUNDS = 40000 };

/* By address, in plain arrays: the file, and where in it. */
struct truth {
        uint32_t file[N_ADDRESSES]; /* 0: nothing is there */
        uint64_t offset[N_ADDRESSES];
};

static uint64_t chance_state = 7;

static uint64_t chance(uint64_t n) {
        chance_state = chance_state * 6364136223846793005ull + 1442695040888963407ull;
        return (chance_state >> 33) % n;
}

static void put(struct address_ranges *m, struct truth *t, const struct address_range *x) {
        address_ranges_put(m, x);
        for (uint64_t a = x->begin; a < x->end; a++) {
                t->file[a] = x->owner;
                t->offset[a] = x->offset + (a - x->begin);
        }
}

static void compare(const struct address_ranges *m, const struct truth *t) {
        uint64_t last_end = 0;
        size_t n = 0;

        for (uint64_t a = 0; a < N_ADDRESSES; a++) {
                const struct address_range *x = address_ranges_at(m, a);

                assert_int_equal(x != NULL, t->file[a] != 0);
                if (!x)
                        continue;
                assert_int_equal(x->owner, t->file[a]);
                assert_int_equal(x->offset + (a - x->begin), t->offset[a]);
        }
        for (size_t i = 0; i < m->leaves.n; i++) {
                const struct address_ranges_leaf *leaf = &m->leaves.items[i];

                /* what a put costs is bounded by this */
                assert_in_range(leaf->n, 1, ADDRESS_RANGES_LEAF);
                n += leaf->n;
                for (size_t k = 0; k < leaf->n; k++) {
                        assert_true(leaf->items[k].begin >= last_end);
                        assert_true(leaf->items[k].end > leaf->items[k].begin);
                        last_end = leaf->items[k].end;
                }
        }
        assert_int_equal(n, m->n);
}

/* Short ones and long ones, over each other, into each other and beside each other. */
static void test_it_has_what_was_mapped_last(void **state) {
        struct address_ranges m = {0}, copy = {0};
        struct truth *t = calloc(1, sizeof(*t));
        size_t most = 0;

        (void)state;
        assert_non_null(t);
        assert_null(address_ranges_at(&m, 0));
        for (uint32_t i = 1; i <= N_ROUNDS; i++) {
                uint64_t begin = chance(N_ADDRESSES);
                uint64_t n = 1 + chance(i % 1000 == 0 ? N_ADDRESSES : i % 50 == 0 ? 200 : 3);
                struct address_range x = {begin, begin + n, chance(1000), i};

                if (x.end > N_ADDRESSES)
                        x.end = N_ADDRESSES;
                put(&m, t, &x);
                most = m.n > most ? m.n : most;
                if (i % 1000 < 2)
                        compare(&m, t);
        }
        assert_true(most > 4 * (size_t)ADDRESS_RANGES_LEAF);
        address_ranges_copy(&copy, &m);
        compare(&copy, t);
        address_ranges_put(&m, &(struct address_range){0, N_ADDRESSES, 0, 1});
        assert_int_equal(m.n, 1);
        assert_int_equal(m.leaves.n, 1);
        compare(&copy, t);
        address_ranges_done(&m);
        address_ranges_done(&copy);
        free(t);
}

static void test_in_order_and_against_it(void **state) {
        (void)state;
        for (int is_down = 0; is_down < 2; is_down++) {
                struct address_ranges m = {0};
                struct truth *t = calloc(1, sizeof(*t));

                assert_non_null(t);
                for (uint64_t i = 0; i < N_ADDRESSES; i++) {
                        uint64_t a = is_down ? N_ADDRESSES - 1 - i : i;

                        put(&m, t, &(struct address_range){a, a + 1, a, (uint32_t)a + 1});
                }
                assert_int_equal(m.n, N_ADDRESSES);
                compare(&m, t);
                /* and none is left with room for many */
                assert_in_range(m.leaves.n, N_ADDRESSES / ADDRESS_RANGES_LEAF,
                                2 * N_ADDRESSES / ADDRESS_RANGES_LEAF + 1);
                address_ranges_done(&m);
                free(t);
        }
}

/* The whole of what addresses there are. */
static void test_at_the_ends_of_memory(void **state) {
        struct address_ranges m = {0};

        (void)state;
        address_ranges_put(&m, &(struct address_range){0, UINT64_MAX, 5, 1});
        address_ranges_put(&m, &(struct address_range){UINT64_MAX - 1, UINT64_MAX, 0, 2});
        address_ranges_put(&m, &(struct address_range){0, 1, 0, 3});
        assert_int_equal(address_ranges_at(&m, 0)->owner, 3);
        assert_int_equal(address_ranges_at(&m, 1)->owner, 1);
        assert_int_equal(address_ranges_at(&m, 1)->offset, 6);
        assert_int_equal(address_ranges_at(&m, UINT64_MAX - 1)->owner, 2);
        assert_null(address_ranges_at(&m, UINT64_MAX));
        address_ranges_done(&m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_it_has_what_was_mapped_last),
                cmocka_unit_test(test_in_order_and_against_it),
                cmocka_unit_test(test_at_the_ends_of_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
