/* SPDX-License-Identifier: MIT */
/* Questions that are told to stop, at any of the times at which they ask whether to go on: they say so, and the query answers the
 * next one as if nothing had been. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system_clock.h"
#include "query/cursor.h"
#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/fabric.h"
#include "query/testing/questions.h"

#define TRACE_PATH "stop_test.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

struct counter {
        uint64_t n, stop_at; /* calls so far; the one that says stop, UINT64_MAX: none */
};

static bool count(void *ctx, uint64_t done, uint64_t total) {
        struct counter *c = ctx;

        assert_true(done <= total);
        return c->n++ != c->stop_at;
}

static struct query *open_trace(uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 30,
                                         .slice_events = 50,
                                         .max_processes = 1 + (unsigned)seed % 4,
                                         .max_threads = 3,
                                         .checkpoint_every = 6,
                                         .max_step_us = 2,
                                         .passes_on = true,
                                         .with_paths = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct query *q = NULL;
        struct err e = {0};

        fabric_run(f, 3000);
        fabric_end(f);
        brute_passes_on = true;
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        return q;
}

static struct query_scope draw_scope(struct query *q, uint64_t *random) {
        struct query_scope scope = query_whole(q);
        uint64_t end_ns = query_view(q)->end_ns;

        if (draw(random, 2))
                scope.process = QUERY_ALL;
        if (draw(random, 2))
                scope.from_ns = draw(random, end_ns / 2);
        if (draw(random, 2))
                scope.to_ns = scope.from_ns + 1 + draw(random, end_ns - scope.from_ns);
        return scope;
}

static int ask(struct query *q, struct counter *c, enum question question,
               const struct query_scope *scope, uint64_t *ret_digest) {
        struct err e = {0};
        int r;

        query_set_progress(q, count, c);
        r = question_ask(q, question, scope, ret_digest, &e);
        query_set_progress(q, NULL, NULL);
        if (r < 0) {
                assert_int_equal(r, -ECANCELED);
                assert_non_null(strstr(e.text, "cancelled"));
                assert_true(c->n > c->stop_at);
        }
        return r;
}

/* Stops the question early, while nothing is remembered yet that would help, then anywhere, and asks it again. Returns whether it asks
 * whether to go on at all. */
static bool check_stop(struct query *q, enum question question, const struct query_scope *scope,
                       uint64_t *random) {
        struct counter early = {.stop_at = draw(random, 20)}, whole = {.stop_at = UINT64_MAX}, any;
        uint64_t expected, again;

        ask(q, &early, question, scope, &again);
        assert_int_equal(ask(q, &whole, question, scope, &expected), 0);
        whole.n = 0;
        assert_int_equal(ask(q, &whole, question, scope, &again), 0);
        assert_int_equal(again, expected);
        any = (struct counter){.stop_at = draw(random, whole.n)};
        if (whole.n > 0)
                assert_int_equal(ask(q, &any, question, scope, &again), -ECANCELED);
        assert_int_equal(ask(q, &whole, question, scope, &again), 0);
        if (again != expected)
                fail_msg("%s: another answer after it was stopped", question_name(question));
        return early.n > 0;
}

/* As brute force has it, after another question was stopped. */
static void check_whole(struct query *q, const struct query_scope *scope) {
        _cleanup_(query_answer_freep) struct query_answer *expected = NULL, *actual = NULL;
        struct err e = {0};

        assert_int_equal(brute_ask(TRACE_PATH, scope, &expected, &e), 0);
        assert_int_equal(query_ask(q, scope, &actual, &e), 0);
        if (actual->is_exact) /* heirs of one call path in a slice that is cut may not be told apart */
                assert_int_equal(brute_compare(expected, actual, true, stderr), 0);
}

static void test_anywhere(void **state) {
        unsigned n_asked[N_QUESTIONS] = {0};

        (void)state;
        for (uint64_t seed = 1; seed <= 8; seed++) {
                struct query *q = open_trace(seed);
                uint64_t random = seed;

                for (unsigned i = 0; i < 60; i++) {
                        struct query_scope scope = draw_scope(q, &random);
                        enum question question = (enum question)draw(&random, N_QUESTIONS);

                        n_asked[question] += check_stop(q, question, &scope, &random);
                        if (i % 10 == 0)
                                check_whole(q, &scope);
                }
                query_free(q);
        }
        for (unsigned i = 0; i < N_QUESTIONS; i++) /* rows of pages are few, and there are none */
                if (i != QUESTION_RESIDENCY && i != QUESTION_MAPPINGS && !n_asked[i])
                        fail_msg("%s never asks whether to go on", question_name(i));
}

/* Filters decide names and stacks before anything is read. */
static void test_filters(void **state) {
        static const char *const conditions[][2] = {{"function", "a"},
                                                    {"asked-by", "e"},
                                                    {"size", "16.."},
                                                    {"lifetime", "1ms.."}};
        struct query *q = open_trace(3);
        uint64_t random = 5;

        (void)state;
        for (unsigned i = 0; i < 40; i++) {
                struct query_filter *f = query_filter_new();
                struct query_scope scope = query_whole(q);
                struct err e = {0};

                assert_int_equal(query_filter_add(f, conditions[i % 4][0], conditions[i % 4][1],
                                                  &e),
                                 0);
                scope.filter = f;
                check_stop(q, (enum question)(i % 2 ? QUESTION_ASK : QUESTION_TIMELINE), &scope,
                           &random);
                query_filter_free(f);
        }
        query_free(q);
}

static void test_deadline(void **state) {
        struct query *q = open_trace(2);
        struct query_scope scope = query_whole(q);
        uint64_t expected, again;
        struct err e = {0};

        (void)state;
        for (unsigned i = 0; i < N_QUESTIONS; i++) {
                query_set_deadline(q, 0);
                assert_int_equal(question_ask(q, (enum question)i, &scope, &expected, &e), 0);
                if (i == QUESTION_RESIDENCY || i == QUESTION_MAPPINGS)
                        continue;
                query_set_deadline(q, 1);
                assert_int_equal(question_ask(q, (enum question)i, &scope, &again, &e), -ETIME);
                assert_non_null(strstr(e.text, "time"));
                query_set_deadline(q, clock_now_ns() + 3600 * 1000000000ull);
                assert_int_equal(question_ask(q, (enum question)i, &scope, &again, &e), 0);
                assert_int_equal(expected, again);
        }
        query_free(q);
}

/* Nothing is taught by half, and a second time teaches it all. */
static void test_wrappers(void **state) {
        struct query *q = open_trace(1), *other = open_trace(1);
        struct counter c = {0};
        struct query_scope scope = query_whole(q);
        struct err e = {0};

        (void)state;
        query_set_progress(q, count, &c);
        assert_int_equal(query_learn_wrappers(q, &e), -ECANCELED);
        query_set_progress(q, NULL, NULL);
        assert_int_equal(query_learn_wrappers(q, &e), 0);
        assert_int_equal(query_learn_wrappers(other, &e), 0);
        assert_null(questions_compare(q, other, &scope));
        query_free(q);
        query_free(other);
}

static void expect_same_block(const struct query_block *x, const struct query_block *y) {
        assert_int_equal(x->seq, y->seq);
        assert_int_equal(x->time_ns, y->time_ns);
        assert_int_equal(x->size_bytes, y->size_bytes);
        assert_int_equal(x->n_blocks, y->n_blocks);
        assert_int_equal(x->age_ns, y->age_ns);
        assert_int_equal(x->thread, y->thread);
        assert_int_equal(x->stack, y->stack);
        assert_int_equal(x->is_live, y->is_live);
}

/* A cursor that was stopped goes on where it was. */
static void test_cursors(void **state) {
        struct query *q = open_trace(2);
        struct query_scope scope = query_whole(q);
        uint64_t random = 1;

        (void)state;
        scope.process = QUERY_ALL;
        for (unsigned i = 0; i < 2 * QUERY_N_ROWS; i++) {
                struct query_cursor *whole, *broken;
                const struct query_row *x, *y;
                struct counter c = {.stop_at = UINT64_MAX};
                struct err e = {0};
                int r, s;

                query_set_progress(q, count, &c);
                assert_int_equal(query_cursor_open(q, &scope, i / 2, &whole, &e), 0);
                assert_int_equal(query_cursor_open(q, &scope, i / 2, &broken, &e), 0);
                do {
                        r = query_cursor_next(whole, &x, &e);
                        c.stop_at = c.n + draw(&random, 3);
                        while ((s = query_cursor_next(broken, &y, &e)) == -ECANCELED)
                                c.stop_at = c.n + draw(&random, 400);
                        c.stop_at = UINT64_MAX;
                        assert_int_equal(r, s);
                        if (r > 0 && i / 2 == QUERY_ROWS_BLOCKS)
                                expect_same_block(&x->block, &y->block);
                        if (r > 0 && i / 2 == QUERY_ROWS_EVENTS)
                                assert_memory_equal(x->event.event, y->event.event,
                                                    sizeof(*x->event.event));
                        if (r > 0 && i / 2 == QUERY_ROWS_SITES)
                                assert_memory_equal(x->site.site, y->site.site,
                                                    sizeof(*x->site.site));
                } while (r > 0);
                query_cursor_free(whole);
                query_cursor_free(broken);
                query_set_progress(q, NULL, NULL);
        }
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_anywhere), cmocka_unit_test(test_filters),
                cmocka_unit_test(test_deadline), cmocka_unit_test(test_wrappers),
                cmocka_unit_test(test_cursors),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
