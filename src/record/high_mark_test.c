/* SPDX-License-Identifier: MIT */
#include "record/high_mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000000ull
#define MIB (1ull << 20)

static unsigned ask(struct high_mark *h, uint64_t from_ns, uint64_t to_ns, uint64_t live_bytes) {
        unsigned n = 0;

        for (uint64_t now_ns = from_ns; now_ns < to_ns; now_ns += S / 4)
                n += high_mark_due(h, now_ns, live_bytes);
        return n;
}

static void test_held(void **state) {
        struct high_mark h = {0};

        (void)state;
        assert_int_equal(ask(&h, 0, 10 * S, MIB - 1), 0); /* too little */
        assert_int_equal(ask(&h, 10 * S, 11 * S, 8 * MIB), 0);
        assert_int_equal(ask(&h, 11 * S, 20 * S, 8 * MIB), 1);  /* once */
        assert_int_equal(ask(&h, 20 * S, 30 * S, 9 * MIB), 0);  /* hardly higher */
        assert_int_equal(ask(&h, 30 * S, 31 * S, 50 * MIB), 0); /* not held */
        assert_int_equal(ask(&h, 31 * S, 40 * S, 9 * MIB), 0);
        assert_int_equal(ask(&h, 40 * S, 50 * S, 11 * MIB), 1);
}

static void test_rising(void **state) {
        struct high_mark h = {0};
        uint64_t live_bytes = MIB, now_ns = 0;

        (void)state;
        for (; live_bytes < 1000 * MIB; live_bytes += live_bytes / 10, now_ns += S / 4)
                assert_false(high_mark_due(&h, now_ns, live_bytes));
        for (unsigned i = 0; i < 20; i++, now_ns += 10 * S, live_bytes *= 2)
                assert_int_equal(ask(&h, now_ns, now_ns + 10 * S, live_bytes), i < HIGH_MARK_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_held),
                                           cmocka_unit_test(test_rising)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
