/* SPDX-License-Identifier: MIT */
/* Which finding stands first, and how severe it is called: by bytes and by what can be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "finding/rules.h"

static struct query_totals totals;
static struct facts facts = {.totals = &totals};

static struct finding make(const char *kind, uint64_t bytes) {
        struct finding x = {.kind = kind, .text = kind, .bytes = bytes};

        x.severity = severity_of(&facts, &x);
        return x;
}

static struct finding rising(uint64_t bytes, double bytes_per_s, bool is_brief) {
        struct finding x = {.kind = "growing", .text = "", .bytes = bytes, .is_brief = is_brief};

        found_number(&x, "bytes_per_s", bytes_per_s);
        x.severity = severity_of(&facts, &x);
        return x;
}

static void test_a_small_block_does_not_precede_the_peak(void **state) {
        struct finding small, peak;

        (void)state;
        totals.peak_bytes = 22000000;
        small = make("leak", 41000);
        peak = make("short-peak", 21000000);
        assert_int_equal(small.severity, FINDING_WORTH_KNOWING);
        assert_true(severity_compare(&peak, &small) < 0);
        peak = make("peak-site", 11000000);
        assert_true(severity_compare(&peak, &small) < 0);
        small = make("leak", 2000000); /* that is a leak to be told first */
        assert_int_equal(small.severity, FINDING_PROBLEM);
        assert_true(severity_compare(&small, &peak) < 0);
}

static void test_small_programs_have_problems_too(void **state) {
        (void)state;
        totals.peak_bytes = 200000;
        assert_int_equal(make("leak", 40000).severity, FINDING_PROBLEM);
        totals.peak_bytes = 8000;
        assert_int_equal(make("leak", 4000).severity, FINDING_WORTH_KNOWING);
}

static void test_pace(void **state) {
        (void)state;
        totals.peak_bytes = 500000000;
        assert_int_equal(rising(19200, 7200, false).severity, FINDING_PROBLEM);
        assert_int_equal(rising(19200, 10, false).severity, FINDING_WORTH_KNOWING);
        assert_int_equal(rising(24000000, 81e6, true).severity, FINDING_WORTH_KNOWING);
}

/* 21.7 KiB are no finding in 168 MiB, whatever part of the blocks they are; what goes on for long at a pace that matters is one. */
static void test_proportion(void **state) {
        static const char *const kinds[] = {"leak",  "large-site", "short-peak",
                                            "slack", "peak-site",  "left-at-end"};
        const double whole_bytes = 168e6;
        struct finding x;

        (void)state;
        totals.peak_bytes = 200000;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                x = make(kinds[i], 22000);
                assert_false(finding_matters(&x, whole_bytes));
                assert_true(finding_matters(&x, 200000));
                assert_true(finding_matters(&x, 7000000) == !strcmp(kinds[i], "leak"));
                x = make(kinds[i], 1700000);
                assert_true(finding_matters(&x, whole_bytes));
        }
        x = make("temporary", 0);
        assert_true(finding_matters(&x, whole_bytes));
        x = make("failed", 0);
        x.is_note = true;
        assert_true(finding_matters(&x, whole_bytes));
        x = rising(22000, 300, false);
        assert_false(finding_matters(&x, whole_bytes)); /* nobody knows for how long */
        found_number(&x, "since_s", 10);
        found_number(&x, "until_s", 100);
        assert_true(finding_matters(&x, whole_bytes));
}

static void test_worries(void **state) {
        struct finding x;

        (void)state;
        totals.peak_bytes = 50000000;
        x = make("peak-site", 40000000);
        assert_false(finding_is_worry(&x));
        x = make("heap", 40000000);
        assert_false(finding_is_worry(&x));
        x.is_open = true; /* it rises */
        assert_true(finding_is_worry(&x));
        x = make("left-at-end", 40000000);
        assert_false(finding_is_worry(&x));
        x = make("leak", 2000);
        assert_true(finding_is_worry(&x));
}

/* Of whatever there is: the order is one order, severity never falls, and of what holds memory bytes never rise within it. */
static void test_random_orders(void **state) {
        static const char *const kinds[] = {"growing", "leak",      "large-site", "short-peak",
                                            "slack",   "regrowth",  "temporary",  "freed-elsewhere",
                                            "heap",    "peak-site", "left-at-end"};
        const char *draws = getenv("SILT_FINDINGS_ORDERS");
        long n_draws = draws ? strtol(draws, NULL, 10) : 2000;

        (void)state;
        srandom(4);
        for (long draw = 0; draw < n_draws; draw++) {
                struct finding list[9];

                totals.peak_bytes = 1000 + (uint64_t)random() % 1000000000;
                totals.alloc_bytes = totals.peak_bytes * 3;
                for (size_t i = 0; i < ARRAY_SIZE(list); i++)
                        list[i] = make(kinds[(size_t)random() % ARRAY_SIZE(kinds)],
                                       1000u << (random() % 20));
                qsort(list, ARRAY_SIZE(list), sizeof(list[0]), severity_compare);
                for (size_t i = 1; i < ARRAY_SIZE(list); i++) {
                        const struct finding *a = &list[i - 1], *b = &list[i];

                        assert_true(a->severity <= b->severity);
                        assert_true(severity_compare(a, b) <= 0 && severity_compare(b, a) >= 0);
                        if (a->severity == b->severity && strcmp(a->kind, "leak") == 0 &&
                            (!strcmp(b->kind, "short-peak") || !strcmp(b->kind, "peak-site")))
                                assert_true(a->bytes >= b->bytes);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_small_block_does_not_precede_the_peak),
                cmocka_unit_test(test_small_programs_have_problems_too),
                cmocka_unit_test(test_pace),
                cmocka_unit_test(test_proportion),
                cmocka_unit_test(test_worries),
                cmocka_unit_test(test_random_orders),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
