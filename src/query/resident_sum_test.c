/* SPDX-License-Identifier: MIT */
/* Resident memory of processes that end: in sums and in lines it goes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/pages.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "resident_sum_test.silt"

enum { N_COLUMNS = 10, MIB = 1 << 20 };

static void sample(struct fabric *f, uint32_t process, uint64_t mib) {
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.process = process,
                                                                  .time_ns = fabric_now_ns(f),
                                                                  .anon_bytes = mib * MIB});
}

/* The first has 10 MiB, then 30; the child has 100, ends, is looked at once more behind its end, and nobody else ends. */
static struct query *open_two(void) {
        const struct fabric_options o = {.seed = 1,
                                         .slice_events = 100,
                                         .max_processes = 2,
                                         .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0), thread, child;
        struct query *q = NULL;
        struct err e = {0};

        thread = fabric_thread(f, 0, "main");
        fabric_alloc(f, 0, thread, a, 1000);
        child = fabric_fork(f, 0);
        sample(f, 0, 10);
        sample(f, child, 100);
        fabric_wait(f, 100000);
        fabric_exit(f, child);
        fabric_wait(f, 1000);
        sample(f, child, 100);
        fabric_wait(f, 500000);
        sample(f, 0, 30);
        fabric_wait(f, 400000);
        fabric_alloc(f, 0, thread, a, 1000);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        return q;
}

static void test_sum(void **state) {
        _cleanup_(query_freep) struct query *q = open_two();
        const struct query_scope all = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_resident r;
        struct err e = {0};

        (void)state;
        assert_int_equal(query_ask(q, &all, &a, &e), 0);
        assert_int_equal(a->totals.peak_rss_bytes, 110 * MIB);
        assert_int_equal(query_resident(q, &all, &r, &e), 0);
        assert_int_equal(query_resident_bytes(&r), 110 * MIB);
}

static void test_lines(void **state) {
        _cleanup_(query_freep) struct query *q = open_two();
        struct query_scope scope = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        struct query_column columns[N_COLUMNS];
        struct err e = {0};

        (void)state;
        assert_int_equal(query_timeline(q, &scope, N_COLUMNS, UINT64_MAX, columns, &e), 0);
        assert_int_equal(columns[0].rss_bytes, 110 * MIB);
        for (size_t i = 2; i < N_COLUMNS; i++) {
                assert_true(columns[i].has_rss);
                assert_in_range(columns[i].rss_bytes, 10 * MIB, 30 * MIB);
        }
        scope.process = 1;
        assert_int_equal(query_timeline(q, &scope, N_COLUMNS, UINT64_MAX, columns, &e), 0);
        assert_int_equal(columns[0].rss_bytes, 100 * MIB);
        for (size_t i = 2; i < N_COLUMNS; i++)
                assert_false(columns[i].has_rss);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sum),
                cmocka_unit_test(test_lines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
