/* SPDX-License-Identifier: MIT */
#include "lab/find_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs those above */
#include <cmocka.h>

struct made_up {
        uint64_t needs_bytes;
        uint64_t flaky_below; /* every third run fails below this */
        unsigned n_calls;
        int fails_after; /* calls until a run cannot be made; 0: never */
};

static int made_up_run(void *ctx, uint64_t limit_bytes, struct find_step *step,
                       struct err *reterr) {
        struct made_up *m = ctx;

        m->n_calls++;
        if (m->fails_after && m->n_calls >= (unsigned)m->fails_after)
                return err_set(reterr, -5, "no");
        step->why = limit_bytes < m->needs_bytes ? FIND_KILLED : FIND_SURVIVED;
        if (limit_bytes < m->flaky_below && m->n_calls % 3 == 0)
                step->why = FIND_STATUS;
        return 0;
}

static struct find_plan plan_of(struct made_up *m, uint64_t start_bytes) {
        return (struct find_plan){.ctx = m,
                                  .n_runs = 3,
                                  .start_bytes = start_bytes,
                                  .granule_bytes = 4096,
                                  .precision_parts = 200,
                                  .run = made_up_run};
}

static void test_finds_within_half_a_percent(void **state) {
        (void)state;
        for (uint64_t needs = 100000; needs < 1ull << 36; needs = needs * 7 / 3) {
                struct made_up m = {.needs_bytes = needs};
                struct find_plan plan = plan_of(&m, needs + needs / 3);
                struct find_answer a;

                assert_int_equal(find_limit(&plan, &a, NULL), 0);
                assert_true(a.survived.limit_bytes >= needs);
                assert_true(a.failed.limit_bytes < needs);
                assert_true(a.survived.limit_bytes - needs <= needs / 150 + 4096);
                assert_int_equal(a.survived.n_survived, 3);
                assert_int_equal(a.failed.why, FIND_KILLED);
                assert_int_equal(a.n_runs, m.n_calls);
                assert_int_equal(a.survived.limit_bytes % 4096, 0);
        }
}

/* What a run used may be less than the next one needs. */
static void test_raises_a_start_that_is_too_small(void **state) {
        struct made_up m = {.needs_bytes = 10 << 20};
        struct find_plan plan = plan_of(&m, 4 << 20);
        struct find_answer a;

        (void)state;
        assert_int_equal(find_limit(&plan, &a, NULL), 0);
        assert_true(a.survived.limit_bytes >= 10 << 20 &&
                    a.survived.limit_bytes < 10.1 * (1 << 20));
}

static void test_all_of_the_runs_must_survive(void **state) {
        struct made_up m = {.needs_bytes = 1 << 20, .flaky_below = 8 << 20};
        struct find_plan plan = plan_of(&m, 20 << 20);
        struct find_answer a;

        (void)state;
        assert_int_equal(find_limit(&plan, &a, NULL), 0);
        assert_int_equal(a.survived.n_survived, 3);
        assert_true(a.survived.limit_bytes >= 8 << 20);
        assert_int_equal(a.failed.why, FIND_STATUS);
}

static void test_gives_up(void **state) {
        struct made_up m = {.needs_bytes = UINT64_MAX};
        struct find_plan plan = plan_of(&m, 1 << 20);
        struct find_answer a;
        struct err e = {0};

        (void)state;
        assert_true(find_limit(&plan, &a, &e) < 0);
        assert_true(m.n_calls < 30);
        m = (struct made_up){.needs_bytes = 1 << 20, .fails_after = 4};
        assert_int_equal(find_limit(&plan, &a, &e), -5);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_finds_within_half_a_percent),
                cmocka_unit_test(test_raises_a_start_that_is_too_small),
                cmocka_unit_test(test_all_of_the_runs_must_survive),
                cmocka_unit_test(test_gives_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
