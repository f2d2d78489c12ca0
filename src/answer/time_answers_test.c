/* SPDX-License-Identifier: MIT */
/* Answers about a recording that has both weights: time and memory add up to the same in all of them, and each is told in its own unit,
 * also where threads ask for different ones at once. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer/answerer.h"
#include "answer/testing/asked_text.h"
#include "show/testing/server_trace.h"

#define TIMED "time_answers.silt"
#define UNTIMED "time_answers_none.silt"

/* Requests of the story. */
enum { N_REQUESTS = SERVER_TRACE_N_CACHED, N_ROUNDS = 40 };
#define CPU_S (N_REQUESTS * (SERVER_TRACE_TICK_NS / 1e9))
#define BLOCKED_S (SERVER_TRACE_N_WAITS * (SERVER_TRACE_WAIT_NS / 1e9))

/* The caller's to free. */
static char *told(struct asker *k, const char *name, const char *query) {
        struct text t = ask(k, name, query);

        if (t.r < 0)
                fail_msg("%s?%s: %s", name, query, t.err.text);
        return t.bytes;
}

static const char *value_of(const char *text, const char *key) {
        char quoted[64];
        const char *at;

        snprintf(quoted, sizeof(quoted), "\"%s\":", key);
        at = strstr(text, quoted);
        if (!at)
                fail_msg("no '%s' in %.2000s", key, text);
        return at + strlen(quoted);
}

static double number(const char *text, const char *key) {
        return strtod(value_of(text, key), NULL);
}

/* The n-th of a list of numbers, from 0; n < 0: their sum. */
static double listed(const char *text, const char *key, int n) {
        const char *at = value_of(text, key);
        double sum = 0;

        if (*at != '[')
                fail_msg("'%s' is no list: %.200s", key, at);
        for (int i = 0; at[0] && at[1] != ']' && *at != ']'; i++) {
                char *end;
                double x = strtod(at + 1, &end);

                if (i == n)
                        return x;
                sum += x;
                at = end;
        }
        return sum;
}

static bool has(const char *text, const char *words) {
        return strstr(text, words) != NULL;
}

static void expect_near(double actual, double expected) {
        if (fabs(actual - expected) > 1e-6 * fabs(expected) + 1e-9)
                fail_msg("%.9f is not %.9f", actual, expected);
}

/* ---- one after the other ------------------------------------------------------------------------- */

struct both {
        struct answerer *a;
        struct asker *k;
};

static int set_up(void **state) {
        static struct both b;

        server_trace_write_timed(TIMED);
        b.a = open_traces(TIMED, NULL);
        b.k = asker_new(b.a);
        *state = &b;
        return 0;
}

static int tear_down(void **state) {
        struct both *b = *state;

        asker_free(b->k);
        answerer_free(b->a);
        return 0;
}

static void test_trace(void **state) {
        struct both *b = *state;
        char *t = told(b->k, "trace", "");

        expect_near(number(t, "cpu_s"), CPU_S);
        expect_near(number(t, "blocked_s"), BLOCKED_S);
        assert_int_equal(number(t, "samples"), N_REQUESTS + SERVER_TRACE_N_WAITS);
        assert_true(has(t, "\"mapped\",\"cpu\",\"blocked\"]"));
        assert_true(has(t, "\"is_all\":false"));
        free(t);
}

static void test_none(void **state) {
        struct answerer *a;
        struct asker *k;
        char *t;

        (void)state;
        server_trace_write(UNTIMED);
        a = open_traces(UNTIMED, NULL);
        k = asker_new(a);
        t = told(k, "trace", "");
        assert_true(has(t, "\"mapped\"]"));
        assert_true(has(t, "\"time\":null"));
        free(t);
        t = told(k, "timeline", "columns=10");
        assert_true(has(t, "\"threads_on_cpu\":null"));
        free(t);
        t = told(k, "table", "group-by=function");
        assert_true(has(t, "\"cpu_ns\":null"));
        free(t);
        asker_free(k);
        answerer_free(a);
}

/* Columns add up, whatever the metric; a wait is spread over the time that it took. */
static void test_timeline(void **state) {
        static const char *const queries[] = {"columns=100", "columns=100&by=cpu",
                                              "columns=7&by=blocked"};
        struct both *b = *state;

        for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
                char *t = told(b->k, "timeline", queries[i]);
                double width_s = (number(t, "to_s") - number(t, "from_s")) / number(t, "columns");
                double live = listed(t, "live_bytes", 50 % (int)number(t, "columns"));

                /* each is written with four digits */
                assert_true(fabs(listed(t, "threads_on_cpu", -1) * width_s - CPU_S) < 1e-3);
                assert_true(fabs(listed(t, "threads_blocked", -1) * width_s - BLOCKED_S) < 1e-3);
                assert_true(live > 100000); /* bytes, and not time */
                free(t);
        }
        for (int i = 0; i < 20; i++) { /* nobody waits twice at once */
                char *t = told(b->k, "timeline",
                               "columns=20&from=0.5s&to=0.61s&by=blocked&groups=2&group-by=thread");
                double width_ns = 0.11e9 / 20;

                assert_true(listed(t, "threads_blocked", i) < 1.0001);
                assert_true(listed(strstr(t, "\"groups\""), "live_bytes", i) <= width_ns + 1);
                expect_near(listed(strstr(t, "\"groups\""), "live_bytes", 5), width_ns);
                free(t);
        }
}

/* The row of a function. */
static int row_of(const char *t, const char *function) {
        int n = (int)number(t, "rows");

        for (int i = 0; i < n; i++) {
                int at = (int)listed(t, "function", i);
                const char *name = value_of(t, "names") + 1;

                for (int k = 0; k < at; k++) /* names have no quotes in them */
                        name = strchr(name + 1, '"') + 2;
                name++;
                if (at > 0 && strncmp(name, function, strlen(function)) == 0)
                        return i;
        }
        fail_msg("no row of %s in %.3000s", function, t);
        return -1;
}

static void test_table(void **state) {
        static const char *const queries[] = {"group-by=function&by=cpu", "group-by=function",
                                              "group-by=function&by=blocked&sparks=5",
                                              "group-by=function&by=count&full=1"};
        struct both *b = *state;

        for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
                char *t = told(b->k, "table", queries[i]);
                int words = row_of(t, "shop::split_words"), cache = row_of(t, "shop::PriceCache");

                expect_near(listed(t, "cpu_ns", -1), CPU_S * 1e9);
                expect_near(listed(t, "blocked_ns", -1), BLOCKED_S * 1e9);
                expect_near(listed(t, "cpu_ns", words), CPU_S * 0.75e9);
                expect_near(listed(t, "cpu_ns", cache), CPU_S * 0.25e9);
                expect_near(listed(t, "count", words), 5.0 * N_REQUESTS);
                expect_near(listed(t, "count", cache), N_REQUESTS);
                expect_near(listed(t, "total_cpu_ns", row_of(t, "shop::Server::serve")),
                            CPU_S * 1e9);
                free(t);
        }
}

/* By call path there is one weight; by thread both. */
static void test_paths_and_threads(void **state) {
        struct both *b = *state;
        char *t = told(b->k, "table", "by=cpu");

        expect_near(listed(t, "cpu_ns", -1), CPU_S * 1e9);
        assert_true(has(t, "\"peak_bytes\":null"));
        free(t);
        t = told(b->k, "table", "by=peak&group-by=thread");
        expect_near(listed(t, "cpu_ns", -1), CPU_S * 1e9);
        free(t);
        t = told(b->k, "table", "by=peak&group-by=size");
        assert_true(has(t, "\"cpu_ns\":null"));
        free(t);
        t = told(b->k, "table", "by=peak&group-by=function&size=1..10M");
        assert_true(has(t, "\"cpu_ns\":null"));
        free(t);
        t = told(b->k, "threads", "");
        assert_true(strstr(t, "worker") < strstr(t, "order_server\""));
        expect_near(number(strstr(t, "worker"), "cpu_s"), CPU_S);
        expect_near(number(strstr(t, "\"tid\""), "cpu_s"), CPU_S);
        free(t);
}

static void test_detail(void **state) {
        struct both *b = *state;
        char *t = told(b->k, "detail", "by=cpu&function=split_words");

        expect_near(number(value_of(t, "both"), "cpu_s"), CPU_S * 0.75);
        expect_near(number(value_of(t, "both"), "all_cpu_s"), CPU_S);
        expect_near(number(value_of(t, "both"), "allocations"), 5.0 * N_REQUESTS);
        assert_true(has(t, "\"sentence\":\"1.5 s of CPU time (75 %)"));
        assert_true(has(t, "\"blocks\":null"));
        assert_true(has(t, "\"unknown\":[]"));
        free(t);
        t = told(b->k, "detail", "by=count&function=split_words");
        expect_near(number(value_of(t, "both"), "cpu_s"), CPU_S * 0.75);
        assert_true(has(t, "\"sentence\":\"10,000 allocations"));
        free(t);
}

/* A page in one file: columns and call paths add up to the same, however few of these are told one by one, and memory stands beside. */
static void test_columns(void **state) {
        static const struct {
                const char *query;
                double smaller;
        } cases[] = {{"rows=100", 0}, {"rows=1", 1}, {"rows=1&by=blocked&from=1s", 1}};
        struct both *b = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *t = told(b->k, "columns", cases[i].query);
                const char *memory = value_of(t, "cells"), *time = value_of(t, "time");
                const char *cpu = value_of(time, "cpu"), *blocked = value_of(time, "blocked");

                assert_true(listed(memory, "count", -1) > N_REQUESTS);
                expect_near(listed(value_of(cpu, "totals"), "time_ns", -1), CPU_S * 1e9);
                expect_near(listed(value_of(cpu, "cells"), "time_ns", -1), CPU_S * 1e9);
                expect_near(listed(value_of(cpu, "cells"), "samples", -1), N_REQUESTS);
                expect_near(number(cpu, "smaller_paths"), cases[i].smaller);
                expect_near(listed(value_of(blocked, "cells"), "time_ns", -1), BLOCKED_S * 1e9);
                expect_near(listed(value_of(blocked, "cells"), "samples", -1),
                            SERVER_TRACE_N_WAITS);
                expect_near(number(blocked, "smaller_paths"), 0);
                free(t);
        }
}

/* Conditions on single blocks leave time out, and say so. */
static void test_columns_without_time(void **state) {
        struct both *b = *state;
        char *t = told(b->k, "columns", "size=1..100");

        assert_true(has(t, "\"time\":null,\"without_time\":\"time is not about blocks"));
        free(t);
}

/* ---- at once ------------------------------------------------------------------------------------- */

struct questioner {
        pthread_t thread;
        struct answerer *a;
        const char *query, *words;
        unsigned n_wrong;
};

static void *put_questions(void *ctx) {
        struct questioner *x = ctx;
        struct asker *k = asker_new(x->a);

        for (unsigned i = 0; i < N_ROUNDS; i++) {
                char *t = told(k, "flame", x->query);

                x->n_wrong += !has(value_of(t, "sentence"), x->words);
                free(t);
        }
        asker_free(k);
        return NULL;
}

static void test_at_once(void **state) {
        struct both *b = *state;
        struct questioner all[] = {{.query = "by=cpu", .words = "2 s of CPU"},
                                   {.query = "by=peak", .words = "MiB live at the peak"},
                                   {.query = "by=blocked", .words = "2 s blocked"},
                                   {.query = "by=count", .words = " allocations"}};

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                all[i].a = b->a;
                assert_int_equal(pthread_create(&all[i].thread, NULL, put_questions, &all[i]), 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                pthread_join(all[i].thread, NULL);
                if (all[i].n_wrong)
                        fail_msg("%s: %u of %d answers do not say '%s'", all[i].query,
                                 all[i].n_wrong, N_ROUNDS, all[i].words);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_trace),
                cmocka_unit_test(test_none),
                cmocka_unit_test(test_timeline),
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_paths_and_threads),
                cmocka_unit_test(test_detail),
                cmocka_unit_test(test_columns),
                cmocka_unit_test(test_columns_without_time),
                cmocka_unit_test(test_at_once),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
