/* SPDX-License-Identifier: MIT */
/* Recordings of totals: what the moments say, and nothing that needs events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/testing/sums_trace.h"

#define TRACE_PATH "sums_test.silt"

enum { STEP_LIVE_BYTES = 7 * 500 + 7 * 1000 };

static int open_sums(void **state) {
        struct query *q;
        struct err e = {0};

        sums_trace_write(TRACE_PATH);
        if (query_open(TRACE_PATH, &q, &e) < 0)
                return -1;
        *state = q;
        return 0;
}

static int close_sums(void **state) {
        query_free(*state);
        return 0;
}

static void test_windows(void **state) {
        struct query *q = *state;

        for (unsigned from = 0; from < SUMS_N_MOMENTS; from++)
                for (unsigned to = from + 1; to <= SUMS_N_MOMENTS; to++) {
                        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
                        struct query_scope scope = {0, (uint64_t)from * SUMS_STEP_NS,
                                                    (uint64_t)to * SUMS_STEP_NS};
                        struct err e = {0};

                        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
                        assert_true(a->is_exact && !a->is_moved);
                        assert_int_equal(a->totals.n_allocs, 20 * (to - from));
                        assert_int_equal(a->totals.n_frees, 6 * (to - from));
                        assert_int_equal(a->totals.begin_bytes, from * STEP_LIVE_BYTES);
                        assert_int_equal(a->totals.end_bytes, to * STEP_LIVE_BYTES);
                        assert_int_equal(a->totals.peak_bytes, to * STEP_LIVE_BYTES);
                }
}

/* An edge between two moments goes to the nearest, and the answer says so. */
static void test_between(void **state) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = {0, 0, 2ull * SUMS_STEP_NS + 1000};
        struct err e = {0};

        assert_int_equal(query_ask(*state, &scope, &a, &e), 0);
        assert_true(a->is_moved);
        assert_int_equal(a->scope.to_ns, 2ull * SUMS_STEP_NS);
        assert_int_equal(a->totals.end_bytes, 2 * STEP_LIVE_BYTES);
}

/* A 0 that nobody counted says so, in sums of it too. */
static void test_unknown(void **state) {
        struct query *q = *state;
        struct query_group_options o = {.by = QUERY_BY_MODULE, .metric = QUERY_PEAK};
        struct query_scope one = query_whole(q), all = {QUERY_ALL, 0, UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL, *b = NULL;
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        struct query_groups *g = NULL;
        struct err e = {0};

        assert_int_equal(query_ask(q, &one, &a, &e), 0);
        assert_int_equal(query_ask(q, &all, &b, &e), 0);
        assert_true(a->totals.lacks_events && b->totals.lacks_events);
        assert_int_equal(a->n_sites, 2);
        assert_true(a->sites[0].f.lacks_events && a->sites[1].f.lacks_events);
        assert_int_equal(query_group(q, &one, &o, &g, &e), 0);
        assert_int_equal(g->n, 1);
        assert_true(g->rows[0].self.lacks_events && g->rows[0].total.lacks_events);
        query_groups_free(g);
        assert_int_equal(query_histogram(q, &one, QUERY_LIFETIMES, false, &h, &e), 0);
        assert_false(h->is_exact);
        assert_int_equal(h->n_blocks, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_windows),
                cmocka_unit_test(test_between),
                cmocka_unit_test(test_unknown),
        };

        return cmocka_run_group_tests(tests, open_sums, close_sums);
}
