/* SPDX-License-Identifier: MIT */
#include "import/import_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/testing/seed.h"

struct record {
        uint64_t no;
        uint32_t more;
};

/* n records whose times are as `time_of` says: each comes once, by time and then by number. */
static void check(size_t n, size_t run_records, uint64_t (*time_of)(size_t)) {
        struct import_order *o = import_order_new(sizeof(struct record), run_records);
        uint64_t last_time = 0, time;
        struct record r = {0}, last = {0};
        uint8_t *seen = calloc(n + 1, 1);
        size_t n_seen = 0;

        for (size_t i = 0; i < n; i++) {
                r = (struct record){i, (uint32_t)i * 3};
                assert_int_equal(import_order_add(o, time_of(i), &r), 0);
        }
        while (import_order_next(o, &time, &r) == 1) {
                assert_true(r.no < n && r.more == (uint32_t)r.no * 3 && !seen[r.no]++);
                assert_int_equal(time, time_of(r.no));
                assert_true(!n_seen || time > last_time || (time == last_time && r.no > last.no));
                last_time = time, last = r, n_seen++;
        }
        assert_int_equal(n_seen, n);
        assert_int_equal(import_order_next(o, &time, &r), 0);
        free(seen);
        import_order_free(o);
}

static uint64_t rising(size_t i) {
        return i;
}

static uint64_t falling(size_t i) {
        return UINT64_MAX - i;
}

static uint64_t same(size_t i) {
        (void)i;
        return 7;
}

static uint32_t seed;

/* Few times, many records of each. */
static uint64_t drawn(size_t i) {
        uint64_t x = (i + seed) * 0x9e3779b97f4a7c15ull;

        return x >> 54;
}

static void test_order(void **state) {
        static uint64_t (*const times[])(size_t) = {rising, falling, same, drawn};
        static const size_t counts[] = {0, 1, 99, 100, 101, 5000};

        (void)state;
        seed = seed_of_run();
        for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
                for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
                        check(counts[c], 100, times[t]);
                        check(counts[c], 0, times[t]);
                }
        check(60000, 7000, drawn); /* runs of more than one reading */
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
