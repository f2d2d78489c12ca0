/* SPDX-License-Identifier: MIT */
/* Columns added up are what the query layer answers for the same window, whatever the edges, the process and the metric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answer/columns.h"
#include "query/spent_time.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "columns_test.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

static struct query_figures path_figures(const struct columns *c, uint32_t path,
                                         const struct query_answer *a) {
        struct query_figures sum = {0};

        for (size_t i = 0; i < a->n_sites; i++) {
                uint32_t found = (uint32_t)c->paths.n;

                for (size_t k = 0; k < c->paths.n; k++)
                        if (c->paths.items[k] == a->sites[i].stack)
                                found = (uint32_t)k;
                if (found == path)
                        query_figures_add(&sum, &a->sites[i].f);
        }
        return sum;
}

static void expect_window(struct query *q, const struct columns *c, size_t from, size_t to) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = c->scope;
        size_t peak = columns_peak(c, from, to);
        struct err e = {0};

        scope.from_ns = c->edges_ns.items[from], scope.to_ns = c->edges_ns.items[to];
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(a->totals.peak_bytes, c->totals.items[peak].peak_bytes);
        assert_int_equal(a->totals.end_bytes, c->totals.items[to - 1].end_bytes);
        for (uint32_t path = 0; path <= c->paths.n; path++) {
                struct query_figures expected = path_figures(c, path, a);
                struct query_figures actual = columns_add_up(c, path, from, to);

                assert_int_equal(actual.n_allocs, expected.n_allocs);
                assert_int_equal(actual.alloc_bytes, expected.alloc_bytes);
                assert_int_equal(actual.n_frees, expected.n_frees);
                assert_int_equal(actual.free_bytes, expected.free_bytes);
                assert_int_equal(actual.n_temporary, expected.n_temporary);
                assert_int_equal(actual.n_reallocs, expected.n_reallocs);
                assert_int_equal(actual.begin_bytes, expected.begin_bytes);
                assert_int_equal(actual.begin_blocks, expected.begin_blocks);
                assert_int_equal(actual.end_bytes, expected.end_bytes);
                assert_int_equal(actual.end_blocks, expected.end_blocks);
                assert_int_equal(actual.peak_bytes, expected.peak_bytes);
                assert_int_equal(actual.peak_blocks, expected.peak_blocks);
        }
}

static void expect_edge(const struct columns *c, const struct trace_view *v, uint64_t ns) {
        bool is_found = ns == 0 || ns >= v->end_ns;

        for (size_t i = 0; i < c->edges_ns.n; i++) {
                is_found = is_found || c->edges_ns.items[i] == ns;
                assert_true(i == 0 || c->edges_ns.items[i] > c->edges_ns.items[i - 1]);
        }
        assert_true(is_found);
}

static void expect_trace(const struct fabric_options *o, unsigned n_events, uint64_t *random) {
        _cleanup_(query_freep) struct query *q = NULL;
        struct fabric *f = fabric_new(TRACE_PATH, o);
        struct columns c;
        struct columns_options options = {0};
        struct query_scope scope;
        struct err e = {0};

        fabric_run(f, n_events);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        if (draw(random, 2))
                scope.process = QUERY_ALL;
        if (draw(random, 2)) { /* a window of which both ends are edges */
                scope.from_ns = draw(random, query_view(q)->end_ns + 1);
                scope.to_ns = scope.from_ns + 1 + draw(random, query_view(q)->end_ns + 1);
        }
        options.n_columns = 2 + draw(random, 20);
        options.n_paths = 1 + draw(random, 2UL * o->n_stacks);
        assert_int_equal(columns_make(&c, q, &scope, &options, &e), 0);
        assert_true(c.is_exact);
        assert_true(c.n_columns >= 1);
        expect_edge(&c, query_view(q), scope.from_ns);
        expect_edge(&c, query_view(q), scope.to_ns);
        for (unsigned i = 0; i < 12; i++) {
                size_t from = draw(random, c.n_columns);

                expect_window(q, &c, from, from + 1 + draw(random, c.n_columns - from));
        }
        expect_window(q, &c, 0, c.n_columns);
        columns_done(&c);
}

static void test_windows(void **state) {
        uint64_t random = 17;

        (void)state;
        for (uint64_t seed = 1; seed <= 60; seed++)
                expect_trace(&(struct fabric_options){.seed = seed,
                                                      .n_stacks = 2 + (unsigned)draw(&random, 30),
                                                      .slice_events = 20,
                                                      .max_processes = seed % 3 ? 1 : 4,
                                                      .max_threads = 3,
                                                      .checkpoint_every = 5,
                                                      .max_step_us = 4000,
                                                      .passes_on = seed % 2},
                             600, &random);
}

/* Nothing at all is a column too. */
static void test_empty(void **state) {
        uint64_t random = 3;

        (void)state;
        expect_trace(&(struct fabric_options){.seed = 1,
                                              .n_stacks = 2,
                                              .slice_events = 20,
                                              .max_processes = 1,
                                              .max_threads = 1,
                                              .max_step_us = 10},
                     0, &random);
}

/* A recording that was limited in size: of its first part samples have no times of their own. */
static void write_merged_ticks(uint64_t *random) {
        const struct fabric_options o = {.seed = 5,
                                         .n_stacks = 20,
                                         .slice_events = 20,
                                         .max_processes = 1,
                                         .max_threads = 2,
                                         .max_step_us = 3000};
        struct fabric *f = fabric_new(TRACE_PATH, &o);

        trace_writer_bound(fabric_writer(f), 60000);
        for (unsigned i = 0; i < 400; i++) {
                fabric_run(f, 20);
                for (unsigned k = 0; k < 100; k++) {
                        struct trace_tick tick = {.time_ns = fabric_now_ns(f),
                                                  .weight_ns = 1 + draw(random, 2000000),
                                                  .stack = 1 + (uint32_t)draw(random, 20),
                                                  .n_samples = 1,
                                                  .state = draw(random, 3) ? TRACE_ON_CPU
                                                                           : TRACE_BLOCKED};

                        trace_put_tick(fabric_writer(f), &tick);
                }
        }
        fabric_end(f);
}

static bool note_merged(void *ctx, const struct trace_tick *tick) {
        *(unsigned *)ctx += tick->n_samples > 1;
        return true;
}

/* All of it is there, to the nanosecond, and of windows about as much as there is. */
static void test_samples_without_times(void **state) {
        const enum query_time times[] = {QUERY_CPU_TIME, QUERY_BLOCKED_TIME};
        _cleanup_(query_freep) struct query *q = NULL;
        uint64_t random = 7;
        struct err e = {0};

        (void)state;
        write_merged_ticks(&random);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
                _cleanup_(query_answer_freep) struct query_answer *all = NULL;
                const struct columns_options options = {.n_columns = 60, .n_paths = 12};
                struct query_scope scope = query_whole(q);
                struct columns c;
                unsigned n_merged = 0;

                scope.of_time = times[i];
                assert_int_equal(query_each_tick(q, &scope, note_merged, &n_merged, &e), 0);
                assert_true(n_merged > 0);
                assert_int_equal(query_ask(q, &scope, &all, &e), 0);
                assert_int_equal(columns_make(&c, q, &scope, &options, &e), 0);
                assert_false(c.is_exact);
                assert_true(c.n_smaller > 0);
                for (uint32_t path = 0; path <= c.paths.n; path++) {
                        struct query_figures expected = path_figures(&c, path, all);
                        struct query_figures actual = columns_add_up(&c, path, 0, c.n_columns);

                        assert_int_equal(actual.alloc_bytes, expected.alloc_bytes);
                        assert_int_equal(actual.n_allocs, expected.n_allocs);
                }
                for (size_t k = 1; k < c.cells.n; k++)
                        assert_true(c.cells.items[k].column >= c.cells.items[k - 1].column);
                for (size_t k = 0; k < c.n_columns; k++) {
                        all->totals.n_allocs -= c.totals.items[k].n_allocs;
                        all->totals.alloc_bytes -= c.totals.items[k].alloc_bytes;
                }
                assert_int_equal(all->totals.n_allocs, 0);
                assert_int_equal(all->totals.alloc_bytes, 0);
                columns_done(&c);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_windows),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_samples_without_times),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
