/* SPDX-License-Identifier: MIT */
/* A trace that grows: after each refresh every answer is that of a trace opened then. Written in steps by a fabric, and, as bytes
 * of a finished one, cut off anywhere. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/cursor.h"
#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/fabric.h"
#include "query/testing/questions.h"
#include "trace/writer.h"

#define TRACE_PATH "refresh_test.silt"
#define GROWING_PATH "refresh_growing.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

static void expect_same_view(const struct trace_view *x, const struct trace_view *y) {
        assert_int_equal(x->n_slices, y->n_slices);
        assert_int_equal(x->n_checkpoints, y->n_checkpoints);
        assert_int_equal(x->n_events, y->n_events);
        assert_int_equal(x->n_stacks, y->n_stacks);
        assert_int_equal(x->n_locations, y->n_locations);
        assert_int_equal(x->n_modules, y->n_modules);
        assert_int_equal(x->n_processes, y->n_processes);
        assert_int_equal(x->n_threads, y->n_threads);
        assert_int_equal(x->n_symbols, y->n_symbols);
        assert_int_equal(x->n_notes, y->n_notes);
        assert_int_equal(x->end_ns, y->end_ns);
        assert_int_equal(x->file_bytes, y->file_bytes);
        assert_int_equal(x->finished, y->finished);
        assert_int_equal(x->n_damaged_bytes, y->n_damaged_bytes);
        assert_string_equal(x->damage, y->damage);
}

static void expect_same(struct query *q, const char *path, uint64_t *random) {
        _cleanup_(query_freep) struct query *fresh = NULL;
        struct query_scope scope = query_whole(q);
        const char *difference;
        struct err e = {0};

        assert_int_equal(query_open(path, &fresh, &e), 0);
        expect_same_view(query_view(q), query_view(fresh));
        if (draw(random, 2))
                scope.process = QUERY_ALL;
        if (draw(random, 2))
                scope.from_ns = draw(random, query_view(q)->end_ns);
        difference = questions_compare(q, fresh, &scope);
        if (difference)
                fail_msg("%s differ after a refresh", difference);
}

static void expect_brute(struct query *q) {
        _cleanup_(query_answer_freep) struct query_answer *expected = NULL, *actual = NULL;
        struct query_scope scope = query_whole(q);
        struct err e = {0};

        assert_int_equal(brute_ask(TRACE_PATH, &scope, &expected, &e), 0);
        assert_int_equal(query_ask(q, &scope, &actual, &e), 0);
        assert_int_equal(brute_compare(expected, actual, true, stderr), 0);
}

static void test_steps(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 6; seed++) {
                const struct fabric_options o = {.seed = seed,
                                                 .n_stacks = 20,
                                                 .slice_events = 40,
                                                 .max_processes = 1 + (unsigned)seed % 3,
                                                 .max_threads = 3,
                                                 .checkpoint_every = 4,
                                                 .max_step_us = 2,
                                                 .with_paths = true};
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                struct query *q = NULL;
                uint64_t random = seed;
                unsigned n_more = 0;
                struct err e = {0};
                int r;

                for (unsigned i = 0; i < 14; i++) {
                        fabric_run(f, (unsigned)draw(&random, 150));
                        if (draw(&random, 3) == 0)
                                trace_put_note(fabric_writer(f), fabric_now_ns(f), "snapshot: x");
                        if (!q) {
                                query_open(TRACE_PATH, &q, &e);
                                continue;
                        }
                        r = query_refresh(q, &e);
                        assert_in_range(r, 0, 1);
                        n_more += r == 1;
                        expect_same(q, TRACE_PATH, &random);
                        expect_brute(q);
                        assert_int_equal(query_refresh(q, &e), 0); /* nothing more */
                }
                assert_non_null(q);
                assert_true(n_more > 5);
                fabric_end(f); /* the index, and names in a file that takes its place */
                assert_int_equal(query_refresh(q, &e), 1);
                assert_true(query_view(q)->finished);
                expect_same(q, TRACE_PATH, &random);
                expect_brute(q);
                query_free(q);
        }
}

static void *read_all(const char *path, size_t *ret_n) {
        FILE *f = fopen(path, "r");
        void *p;

        assert_non_null(f);
        fseek(f, 0, SEEK_END);
        *ret_n = (size_t)ftell(f);
        rewind(f);
        p = malloc(*ret_n);
        assert_int_equal(fread(p, 1, *ret_n, f), *ret_n);
        fclose(f);
        return p;
}

/* A writer's file may end anywhere when it is looked at. */
static void test_bytes(void **state) {
        const struct fabric_options o = {.seed = 9,
                                         .n_stacks = 20,
                                         .slice_events = 40,
                                         .max_processes = 3,
                                         .max_threads = 2,
                                         .checkpoint_every = 5,
                                         .with_names = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint64_t random = 3, n_written = 0;
        struct query *q = NULL;
        size_t n_bytes;
        char *bytes;
        int fd;

        (void)state;
        fabric_run(f, 1500);
        fabric_end(f);
        bytes = read_all(TRACE_PATH, &n_bytes);
        fd = open(GROWING_PATH, O_RDWR | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0);
        while (n_written < n_bytes) {
                uint64_t n = MIN(1 + draw(&random, n_bytes / 30), n_bytes - n_written);
                struct err e = {0};

                assert_int_equal(pwrite(fd, bytes + n_written, n, (off_t)n_written), (ssize_t)n);
                n_written += n;
                if (!q) {
                        query_open(GROWING_PATH, &q, &e);
                        continue;
                }
                assert_in_range(query_refresh(q, &e), 0, 1);
                expect_same(q, GROWING_PATH, &random);
        }
        assert_true(query_view(q)->finished);
        close(fd);
        free(bytes);
        query_free(q);
}

/* A write that failed is taken back, and others come in its place. */
static void test_taken_back(void **state) {
        const struct fabric_options o = {
                .seed = 4, .n_stacks = 9, .slice_events = 40, .max_processes = 1, .max_threads = 2};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint64_t random = 3;
        struct query *q = NULL;
        struct err e = {0};
        size_t n_bytes;
        char *bytes;
        int fd;

        (void)state;
        fabric_run(f, 900);
        fabric_end(f);
        bytes = read_all(TRACE_PATH, &n_bytes);
        fd = open(GROWING_PATH, O_RDWR | O_CREAT | O_TRUNC, 0644);
        assert_int_equal(write(fd, bytes, n_bytes), (ssize_t)n_bytes);
        assert_int_equal(query_open(GROWING_PATH, &q, &e), 0);
        assert_int_equal(ftruncate(fd, (off_t)n_bytes / 2), 0);
        assert_int_equal(query_refresh(q, &e), 1);
        expect_same(q, GROWING_PATH, &random);
        assert_int_equal(pwrite(fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
        assert_int_equal(query_refresh(q, &e), 1);
        expect_same(q, GROWING_PATH, &random);
        close(fd);
        free(bytes);
        query_free(q);
}

/* What is new is read, and what is old is not. */
static void test_cost(void **state) {
        const struct fabric_options o = {.seed = 5,
                                         .n_stacks = 40,
                                         .slice_events = 200,
                                         .max_processes = 1,
                                         .max_threads = 2,
                                         .checkpoint_every = 10};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct query *q = NULL;
        uint64_t before, opened, n_new;
        struct err e = {0};

        (void)state;
        fabric_run(f, 60000);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        opened = query_bytes_read(q);
        n_new = query_view(q)->file_bytes;
        fabric_run(f, 1000);
        before = query_bytes_read(q);
        assert_int_equal(query_refresh(q, &e), 1);
        n_new = query_view(q)->file_bytes - n_new;
        assert_true(query_bytes_read(q) - before <= n_new + 512);
        assert_true(query_bytes_read(q) - before < opened / 10);
        fabric_end(f);
        query_free(q);
}

static void test_shared(void **state) {
        const struct fabric_options o = {
                .seed = 5, .n_stacks = 9, .slice_events = 50, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct query_cursor *c;
        struct query *q = NULL;
        struct query_scope scope;
        struct err e = {0};

        (void)state;
        fabric_run(f, 500);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = query_whole(q);
        assert_int_equal(query_cursor_open(q, &scope, QUERY_ROWS_EVENTS, &c, &e), 0);
        fabric_run(f, 500);
        assert_int_equal(query_refresh(q, &e), -EBUSY);
        query_cursor_free(c);
        assert_int_equal(query_refresh(q, &e), 1);
        fabric_end(f);
        query_free(q);
}

static bool is_tallied(struct query *q) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = query_whole(q);
        struct err e = {0};

        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(a->totals.is_tallied, a->totals.n_allocs == 7777);
        return a->totals.is_tallied;
}

/* Of samples: what was counted is told once nothing can have come after it. */
static void test_counts_lag(void **state) {
        const struct fabric_options o = {.seed = 5,
                                         .n_stacks = 9,
                                         .slice_events = 50,
                                         .max_processes = 1,
                                         .max_threads = 1,
                                         .sample_bytes = 4096};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct query *q = NULL;
        struct err e = {0};

        (void)state;
        fabric_run(f, 100);
        trace_put_tally(fabric_writer(f),
                        &(struct trace_tally){.time_ns = fabric_now_ns(f), .n_allocs = 7777});
        fabric_run(f, 200);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        assert_int_equal(query_view(q)->n_tallies, 1);
        assert_false(is_tallied(q));
        fabric_end(f);
        assert_int_equal(query_refresh(q, &e), 1);
        assert_true(is_tallied(q));
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_steps),      cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_taken_back), cmocka_unit_test(test_cost),
                cmocka_unit_test(test_shared),     cmocka_unit_test(test_counts_lag),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
