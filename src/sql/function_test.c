/* SPDX-License-Identifier: MIT */
/* Functions of SQL: each against answers worked out by hand, percentiles against sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "base/vec.h"
#include "keep/testing/graph_trace.h"
#include "name/name.h"
#include "query/search_pattern.h"
#include "sql/sql.h"
#include "sql/testing/sql_ask.h"
#include "sql/value_tally.h"

#define TRACE_PATH "sql_function_test.silt"

struct setting {
        struct query *q;
        struct names *names;
        struct sql *sql;
        struct str text;
};

static struct setting set;

static const char *ask(const char *statement) {
        return sql_ask_text(set.sql, statement, &set.text);
}

/* The value of an expression. */
static void expect(const char *expression, const char *expected) {
        struct str statement = {0};

        str_addf(&statement, "SELECT %s", expression);
        if (strcmp(ask(str_text(&statement)), expected) != 0)
                fail_msg("%s is '%s', not '%s'", expression, str_text(&set.text), expected);
        str_done(&statement);
}

static int begin(void **state) {
        struct err err = {0};
        const struct graph_bytes none = {0};

        (void)state;
        graph_trace_write(TRACE_PATH, &none, 1);
        if (query_open(TRACE_PATH, &set.q, &err) < 0 ||
            names_load(&(struct name_sources){0}, &set.names, &err) < 0)
                return -1;
        query_set_names(set.q, set.names);
        return sql_open(&(struct sql_options){.trace = {set.q, set.names, TRACE_PATH},
                                              .process = QUERY_ALL},
                        &set.sql, &err);
}

static int end(void **state) {
        (void)state;
        sql_free(set.sql);
        query_free(set.q);
        names_free(set.names);
        str_done(&set.text);
        unlink(TRACE_PATH);
        return 0;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static void test_numbers(void **state) {
        (void)state;
        expect("bytes(0)", "0 B");
        expect("bytes(1536)", "1.5 KiB");
        expect("bytes(-1536)", "-1.5 KiB");
        expect("bytes(-9223372036854775807 - 1)", "-8.0 EiB");
        expect("bytes(1535.7)", "1.5 KiB");
        expect("bytes(-0.2)", "0 B");
        expect("bytes('2048')", "2.0 KiB");
        expect("bytes('much')", "-");
        expect("bytes(NULL)", "-");
        expect("bytes(1e300)", "16.0 EiB");
        expect("duration(1250000000)", "1.25 s");
        expect("duration(-4000)", "-4 us");
        expect("count_text(1234567)", "1,234,567");
        expect("count_text(-1234)", "-1,234");
        expect("count_text(2.5)", "3");
        expect("at('250ms')", "250000000");
        expect("at(7)", "7");
        expect("at(NULL)", "-");
        expect("at('@end') > 0", "1");
        assert_non_null(strstr(ask("SELECT at('@nowhere')"), "error: "));
        assert_non_null(strstr(ask("SELECT at('soon')"), "error: "));
}

static void test_classes(void **state) {
        (void)state;
        expect("size_class(0)", "0");
        expect("size_class(1)", "1");
        expect("size_class(16)", "9");
        expect("size_class(100)", "97");
        expect("size_class(129)", "129");
        expect("size_class(161)", "161");
        expect("size_class(-1)", "-");
        expect("lifetime_class(3999)", "0");
        expect("lifetime_class(4000)", "4000");
        expect("lifetime_class(15999)", "4000");
        expect("lifetime_class(16000)", "16000");
        expect("lifetime_class(9e18) = lifetime_class(8e18)", "1");
}

static void test_bar(void **state) {
        (void)state;
        expect("bar(0, 10, 8)", "");
        expect("bar(10, 10, 2)", "██");
        expect("bar(5, 10, 3)", "█▌");
        expect("bar(1, 1000000, 10)", "▏");
        expect("bar(20, 10, 2)", "██");
        expect("bar(5, 0, 2)", "");
        expect("bar(-5, 10, 2)", "");
        expect("bar(NULL, 10, 2)", "-");
        expect("length(bar(1, 1))", "20");
        assert_non_null(strstr(ask("SELECT bar(1, 1, 1001)"), "error: bar(X, MOST, CELLS)"));
        assert_non_null(strstr(ask("SELECT bar(1, 1, -1)"), "error: bar(X, MOST, CELLS)"));
}

/* ---- call paths --------------------------------------------------------------------------------- */

static void test_stack_text(void **state) {
        (void)state;
        expect("stack_text(2)", "serve  app.c:11\n ↑ main  app.c:10");
        expect("stack_text(2, ' < ')", "serve < main");
        expect("stack_text(2, '')", "servemain");
        expect("stack_text(0)", "(no stack)");
        expect("stack_text(-1)", "-");
        expect("stack_text(100000)", "-");
        expect("stack_text(1e30)", "-");
        expect("stack_text(NULL)", "-");
        assert_non_null(strstr(ask("SELECT stack_text('main')"), "error: a call path is a number"));
        assert_non_null(strstr(ask("SELECT other_stack_text(1)"), "error: there is no second"));
}

/* As the condition of a filter says. */
static void test_has_frame(void **state) {
        static const char *const patterns[] = {"main", "^serve$", "Session", "open\\(int\\)$",
                                               "x",    "^insert", "",        "app.c",
                                               "0x",   "."};

        (void)state;
        for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
                struct query_filter *f = query_filter_new();
                struct query_scope scope = query_whole(set.q);
                struct query_answer *a;
                struct err err = {0};
                struct str statement = {0};
                uint64_t selected = 0;

                assert_int_equal(query_filter_add(f, "function", patterns[i], &err), 0);
                scope.filter = f;
                assert_int_equal(query_ask(set.q, &scope, &a, &err), 0);
                for (size_t k = 0; k < a->n_sites; k++)
                        selected |= 1ull << a->sites[k].stack;
                for (unsigned stack = 1; stack < query_view(set.q)->n_stacks; stack++) {
                        str_clear(&statement);
                        str_addf(&statement, "has_frame(%u, '%s')", stack, patterns[i]);
                        expect(str_text(&statement), selected >> stack & 1 ? "1" : "0");
                }
                str_done(&statement);
                query_answer_free(a);
                query_filter_free(f);
        }
        expect("has_frame(0, '.')", "0");
        expect("has_frame(NULL, '.')", "-");
        expect("has_frame(1, NULL)", "-");
        expect("has_frame(1000, '.')", "-");
        assert_non_null(strstr(ask("SELECT has_frame(1, '(')"), "error: pattern '('"));
        assert_non_null(
                strstr(ask("SELECT has_frame('main', 1)"), "error: a call path is a number"));
}

static void test_regexp(void **state) {
        (void)state;
        expect("'parse_line' REGEXP '^parse_'", "1");
        expect("'parse_line' REGEXP '^line'", "0");
        expect("'a' NOT REGEXP 'b'", "1");
        expect("1234 REGEXP '^12'", "1");
        expect("NULL REGEXP 'a'", "-");
        expect("'a' REGEXP NULL", "-");
        assert_non_null(strstr(ask("SELECT 'a' REGEXP '['"), "error: pattern '['"));
        /* never "no match": and asked again it says so again */
        for (int i = 0; i < 2; i++)
                assert_non_null(strstr(ask("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' "
                                           "REGEXP '^(a+)+$'"),
                                       "takes too long"));
}

/* More patterns than are kept, each right. */
static void test_many_patterns(void **state) {
        (void)state;
        assert_string_equal(
                ask("WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 499) "
                    "SELECT count(*), sum(('x' || (i % 100) || 'y') REGEXP ('^x' || (i % 50) || 'y$')), "
                    "sum(has_frame(2, 'serve|' || (i % 40))), sum(has_frame(1, 'serve|' || (i % 40))) FROM n"),
                "500|250|500|0");
}

/* ---- groups -------------------------------------------------------------------------------------- */

static void test_percentile(void **state) {
        (void)state;
        expect("median(column1) FROM (VALUES (3), (1), (2))", "2");
        expect("median(column1) FROM (VALUES (3), (1))", "2");
        expect("median(column1) FROM (VALUES (2), (1))", "1.5");
        expect("median(column1) FROM (VALUES (NULL), (7), (NULL))", "7");
        expect("median(column1) FROM (VALUES (NULL))", "-");
        expect("percentile(column1, 0) FROM (VALUES (5), (-4.5), (9))", "-4.5");
        expect("percentile(column1, 100) FROM (VALUES (5), (-4.5), (9))", "9");
        expect("percentile(column1, 25) FROM (VALUES (1), (2), (3), (4))", "1.75");
        expect("percentile(column1, 90) FROM (VALUES (10), (20))", "19");
        expect("typeof(percentile(column1, 50)) FROM (VALUES (1), (3))", "integer");
        expect("typeof(percentile(column1, 50)) FROM (VALUES (1), (3.0))", "real");
        assert_non_null(strstr(ask("SELECT percentile(1, 101)"), "error: percentile(X, P)"));
        assert_non_null(strstr(ask("SELECT percentile(1, NULL)"), "error: percentile(X, P)"));
        assert_non_null(strstr(ask("SELECT percentile(column1, column1) FROM (VALUES (1), (2))"),
                               "the same for all rows"));
        assert_non_null(strstr(ask("SELECT median('text')"), "error: median is of numbers"));
}

/* As if each row stood there so many times. */
static void test_weights(void **state) {
        (void)state;
        expect("median(column1, column2) FROM (VALUES (1, 9), (1000, 1))", "1");
        expect("percentile(column1, 90, column2) FROM (VALUES (10, 1), (20, 10))", "20");
        expect("percentile(column1, 50, column2) FROM (VALUES (10, 2), (20, 2))", "15");
        expect("percentile(column1, 100, column2) FROM (VALUES (5, 3), (9, 0), (8, NULL))", "5");
        expect("median(7, 0)", "-");
        expect("stddev(column1, column2) = (SELECT stddev(column1) FROM (VALUES (2), (4), (4), (4), "
               "(5), (5), (7), (9))) FROM (VALUES (2, 1), (4, 3), (5, 2), (7, 1), (9, 1))",
               "1");
        expect("histogram(column1, '', column2) FROM (VALUES (1, 2), (1, 3), (2, 5), (9, 0))",
               "1  5  ████████████████████████████████████████\n"
               "2  5  ████████████████████████████████████████");
        for (size_t i = 0; i < 3; i++) {
                static const char *const wrong[] = {"SELECT median(1, -1)", "SELECT median(1, 1.5)",
                                                    "SELECT median(1, 'much')"};

                assert_non_null(strstr(ask(wrong[i]), "error: WEIGHT is how often a row counts"));
        }
}

static void test_stddev(void **state) {
        (void)state;
        expect("stddev(column1) FROM (VALUES (2), (4), (4), (4), (5), (5), (7), (9))",
               "2.1380899352994");
        expect("stddev(5)", "-");
        expect("stddev(column1) FROM (VALUES (1e9 + 1), (1e9 + 2), (1e9 + 3))", "1");
}

static void test_histogram(void **state) {
        (void)state;
        expect("histogram(column1) FROM (VALUES (1), (5), (7), (-1), (0.5), (NULL))",
               "below 0  1  ████████████████████\n"
               "      0  1  ████████████████████\n"
               "      1  1  ████████████████████\n"
               "      2  0\n"
               "      4  2  ████████████████████████████████████████");
        expect("histogram(1024, 'bytes')", "1.0 KiB  1  ████████████████████████████████████████");
        expect("histogram(1024, 'ns')", "1.02 us  1  ████████████████████████████████████████");
        expect("histogram(NULL)", "-");
        expect("length(histogram(1e300)) > 0", "1");
        assert_non_null(strstr(ask("SELECT histogram(1, 'miles')"), "error: histogram(X, UNIT)"));
}

static int by_value(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x < y ? -1 : x > y;
}

/* Few different values, many, and both, once or several times each: against sorting. */
static void test_tally(void **state) {
        static const uint64_t n_different[] = {1, 100, 5000, 1000000000};

        (void)state;
        for (size_t k = 0; k < 2 * sizeof(n_different) / sizeof(n_different[0]); k++) {
                struct value_tally t = {0};
                VEC(double) values = {0};
                uint64_t random = k + 1;

                for (size_t i = 0; i < 100000; i++) {
                        uint64_t n_times = k % 2 ? i % 4 : 1;
                        double x;

                        random = random * 6364136223846793005ull + 1442695040888963407ull;
                        x = (double)((random >> 33) % n_different[k / 2]) / 4 - 100;
                        for (uint64_t n = 0; n < n_times; n++)
                                vec_push(&values, x);
                        assert_true(value_tally_add(&t, x, n_times));
                }
                qsort(values.items, values.n, sizeof(double), by_value);
                for (int pct = 0; pct <= 100; pct++) {
                        double at = pct / 100.0 * (double)(values.n - 1);
                        size_t low = (size_t)at;
                        double expected = values.items[low];

                        if (low + 1 < values.n)
                                expected += (values.items[low + 1] - values.items[low]) *
                                            (at - (double)low);
                        assert_true(fabs(value_tally_at(&t, pct / 100.0) - expected) <=
                                    1e-9 * fabs(expected));
                }
                value_tally_done(&t);
                vec_free(&values);
        }
}

/* What needs more memory than there may be ends the statement. */
static void test_memory(void **state) {
        struct err err = {0};
        struct sql *small;

        (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return; /* the sanitizer's own memory grows, too */
#endif
        assert_int_equal(sql_open(&(struct sql_options){.trace = {set.q, set.names, TRACE_PATH},
                                                        .process = QUERY_ALL,
                                                        .max_memory_bytes = 8 << 20},
                                  &small, &err),
                         0);
        assert_non_null(
                strstr(sql_ask_text(small,
                                    "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 "
                                    "FROM n WHERE i < 3000000) SELECT median(i) FROM n",
                                    &set.text),
                       "of memory"));
        assert_string_equal(sql_ask_text(small,
                                         "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 "
                                         "FROM n WHERE i < 3000000) SELECT median(i % 1001) FROM n",
                                         &set.text),
                            "500");
        sql_free(small);
}

/* Each function that people are told of is there. */
static void test_infos(void **state) {
        size_t n;
        const struct sql_function_info *infos = sql_functions(&n);

        (void)state;
        assert_true(n > 10);
        for (size_t i = 0; i < n; i++) {
                struct str statement = {0};

                str_addf(&statement, "SELECT count(*) FROM sqlite_schema WHERE %s()",
                         infos[i].name);
                assert_non_null(
                        strstr(ask(str_text(&statement)), "wrong number of arguments to function"));
                str_done(&statement);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_classes),
                cmocka_unit_test(test_bar),
                cmocka_unit_test(test_stack_text),
                cmocka_unit_test(test_has_frame),
                cmocka_unit_test(test_regexp),
                cmocka_unit_test(test_many_patterns),
                cmocka_unit_test(test_percentile),
                cmocka_unit_test(test_weights),
                cmocka_unit_test(test_stddev),
                cmocka_unit_test(test_histogram),
                cmocka_unit_test(test_tally),
                cmocka_unit_test(test_infos),
                cmocka_unit_test(test_memory), /* last: the limit is the program's */
        };

        return cmocka_run_group_tests(tests, begin, end);
}
