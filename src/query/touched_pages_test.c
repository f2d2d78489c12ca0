/* SPDX-License-Identifier: MIT */
/* Rows about pages, written by hand: which of them an answer is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "residency_test.silt"

enum { MIB = 1 << 20 };

static uint32_t stack_a, stack_b;

static void put(struct fabric *f, uint32_t process, uint32_t stack, uint64_t at_ns,
                uint64_t peak_bytes, uint64_t touched_bytes) {
        struct trace_residency row = {.process = process,
                                      .stack = stack,
                                      .time_ns = at_ns,
                                      .peak_ns = at_ns - 5,
                                      .now = {1, peak_bytes / 2, touched_bytes / 2},
                                      .peak = {2, peak_bytes, touched_bytes},
                                      .seen = {7, 3 * peak_bytes, 2 * touched_bytes},
                                      .max_touched_bytes = touched_bytes};

        trace_put_residency(fabric_writer(f), &row);
}

static struct query *open_trace(void) {
        static const struct fabric_options o = {.seed = 1,
                                                .n_stacks = 1,
                                                .slice_events = 100,
                                                .max_processes = 1,
                                                .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct query *q;
        struct err err = {0};
        uint32_t child;

        stack_a = fabric_frame(f, 0, "/bin/x", "a", "x.c", 1);
        stack_b = fabric_frame(f, 0, "/bin/x", "b", "x.c", 2);
        fabric_wait(f, 1000);
        child = fabric_fork(f, 0);
        put(f, 0, stack_a, 1000, 10 * MIB, MIB);
        put(f, 0, stack_b, 1000, 20 * MIB, 18 * MIB);
        put(f, child, stack_a, 1000, 5 * MIB, 0);
        fabric_wait(f, 1000000);
        put(f, 0, stack_a, 2000, 10 * MIB, 9 * MIB); /* it was used later */
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
        return q;
}

static size_t ask(struct query *q, const struct query_scope *scope,
                  struct query_residency ret[static 4]) {
        struct query_residency *rows;
        struct err err = {0};
        size_t n;

        assert_int_equal(query_residency(q, scope, &rows, &n, &err), 0);
        assert_in_range(n, 0, 4);
        if (n)
                memcpy(ret, rows, n * sizeof(rows[0]));
        free(rows);
        return n;
}

/* Of each call path the last row, most slack first. */
static void test_all_of_it(void **state) {
        struct query *q = open_trace();
        struct query_scope scope = query_whole(q);
        struct query_residency rows[4];

        (void)state;
        assert_int_equal(ask(q, &scope, rows), 2);
        assert_int_equal(rows[0].stack, stack_b);
        assert_int_equal(query_residency_slack_bytes(&rows[0]), 2 * MIB);
        assert_int_equal(rows[1].stack, stack_a);
        assert_int_equal(query_residency_slack_bytes(&rows[1]), MIB);
        assert_int_equal(rows[1].last.at_ns, 2000);
        assert_int_equal(rows[1].last.bytes, 5 * MIB);
        assert_int_equal(rows[1].peak.at_ns, 1995);
        assert_int_equal(rows[1].peak.n_blocks, 2);
        assert_int_equal(rows[1].peak.touched_bytes, 9 * MIB);
        assert_int_equal(rows[1].seen_blocks, 7);
        assert_int_equal(rows[1].seen_bytes, 30 * MIB);
        assert_int_equal(rows[1].seen_touched_bytes, 18 * MIB);
        query_free(q);
}

static void test_scopes(void **state) {
        struct query *q = open_trace();
        struct query_scope scope = query_whole(q);
        struct query_filter *filter = query_filter_new();
        struct query_residency rows[4];
        struct err err = {0};

        (void)state;
        scope.to_ns = 2000; /* before the last row */
        assert_int_equal(ask(q, &scope, rows), 2);
        assert_int_equal(rows[0].stack, stack_a);
        assert_int_equal(query_residency_slack_bytes(&rows[0]), 9 * MIB);
        scope.to_ns = 1000;
        assert_int_equal(ask(q, &scope, rows), 0);
        scope = query_whole(q);
        scope.process = 1;
        assert_int_equal(ask(q, &scope, rows), 1);
        assert_int_equal(rows[0].process, 1);
        assert_int_equal(query_residency_slack_bytes(&rows[0]), 5 * MIB);
        scope.process = QUERY_ALL;
        assert_int_equal(ask(q, &scope, rows), 3);
        assert_int_equal(query_filter_add(filter, "function", "^b$", &err), 0);
        scope.filter = filter;
        assert_int_equal(ask(q, &scope, rows), 1);
        assert_int_equal(rows[0].stack, stack_b);
        query_filter_free(filter);
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_of_it),
                cmocka_unit_test(test_scopes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
