/* SPDX-License-Identifier: MIT */
/* What a statement answers: every kind of value, parameters, more rows than were wanted, words for numbers, two traces; a statement
 * that never ends is stopped; one that needs too much memory is refused and the next one answered. */
#include <errno.h>
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
#include "base/macros.h"
#include "base/str.h"
#include "base/system_clock.h"
#include "query/testing/fabric.h"
#include "request/request.h"

#define NEW "sql_answer_new.silt"
#define OLD "sql_answer_old.silt"

static void write_trace(const char *path, uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 20,
                                         .slice_events = 100,
                                         .max_processes = 3,
                                         .max_threads = 3,
                                         .checkpoint_every = 7,
                                         .max_step_us = 30,
                                         .with_names = true,
                                         .with_paths = true};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, 1000);
        fabric_end(f);
}

static struct answerer *written_traces(const char *old_path) {
        write_trace(NEW, 1);
        if (old_path)
                write_trace(old_path, 2);
        return open_traces(NEW, old_path);
}

/* ---- asking -------------------------------------------------------------------------------------- */

struct told {
        char *text;
        int r;
        struct err err;
};

static struct told ask_sql(struct asker *k, const char *sql, const char *more) {
        struct told t = {0};
        struct str url = {0};
        size_t n;
        FILE *out = open_memstream(&t.text, &n);

        str_add(&url, "sql=");
        request_add_encoded(&url, sql);
        str_add(&url, more);
        t.r = answer(k, "sql", str_text(&url), url.n, out, &t.err);
        fclose(out);
        str_done(&url);
        return t;
}

static void expect(struct asker *k, const char *sql, const char *more, const char *part) {
        struct told t = ask_sql(k, sql, more);

        if (t.r < 0 || !strstr(t.text, part))
                fail_msg("%s: %s\n%.2000s has no %s", sql, t.err.text, t.text, part);
        free(t.text);
}

static void expect_refusal(struct asker *k, const char *sql, int r, const char *part) {
        struct told t = ask_sql(k, sql, "");

        if (t.r != r || !strstr(t.err.text, part) || strchr(t.err.text, '\n'))
                fail_msg("%s: %d %s, not %d %s", sql, t.r, t.err.text, r, part);
        free(t.text);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void test_values(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);

        (void)state;
        expect(k, "SELECT 1 AS one, -2, 0.1, 'x\"y', NULL, x'00ff'", "",
               "\"rows\":[[1,-2,0.1,\"x\\\"y\",null,\"x'00ff'\"]],\"has_more\":false");
        expect(k, "SELECT 1 AS one", "",
               "\"columns\":[{\"name\":\"one\",\"trace\":\"main\",\"table\":null,\"column\":null}]");
        /* browsers would round it */
        expect(k, "SELECT 9007199254740992, 9007199254740993, -9223372036854775808", "",
               "[[9007199254740992,\"9007199254740993\",\"-9223372036854775808\"]]");
        expect(k, "SELECT 1e999, -1e999, 1e-9, 0.1+0.2", "",
               "[[\"Inf\",\"-Inf\",1e-09,0.30000000000000004]]");
        expect(k, "SELECT 'a' || char(0) || 'b'", "",
               "[[\"a\xef\xbf\xbd"
               "b\"]]");
        expect(k, "SELECT name FROM marks LIMIT 0", "", "\"rows\":[],\"has_more\":false");
        expect(k, "-- why\nSELECT 2; -- because", "", "[[2]]");
        asker_free(k);
        answerer_free(a);
}

static void test_parameters(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);

        (void)state;
        expect(k, "SELECT :a, :b, :c, typeof(:a), typeof(:b)",
               "&p-a=7&p-b=5s&p-c=", "[[7,\"5s\",null,\"integer\",\"text\"]]");
        expect(k, "SELECT :a", "&p-a=1&p-a=2", "[[2]]");
        expect_refusal(k, "SELECT :since", -EINVAL, ":since has no value");
        expect_refusal(k, "SELECT ?", -EINVAL, "no name");
        asker_free(k);
        answerer_free(a);
}

static void test_rows(void **state) {
        static const char many[] = "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c "
                                   "LIMIT 10500) SELECT x FROM c";
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);

        (void)state;
        expect(k, many, "&rows=2", "\"rows\":[[1],[2]],\"has_more\":true");
        expect(k, many, "&rows=0", "\"rows\":[],\"has_more\":true");
        expect(k, many, "", "[999],[1000]],\"has_more\":true");
        expect(k, many, "&rows=10000", "[10000]],\"has_more\":true");
        expect(k, "SELECT 1 UNION SELECT 2", "&rows=2", "[[1],[2]],\"has_more\":false");
        asker_free(k);
        answerer_free(a);
}

/* What was probably meant, without words of a shell that a page does not have. */
static void test_advice(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);

        (void)state;
        expect_refusal(k, "SELECT end_byte FROM sites", -EINVAL,
                       "no such column: end_byte: did you mean 'end_bytes'?");
        expect_refusal(k, "SELECT * FROM site", -EINVAL, "site: did you mean 'sites'?");
        expect_refusal(k, "SELECT name FROM sites WHERE", -EINVAL,
                       "the statement is not complete: it ends behind 'WHERE'");
        asker_free(k);
        answerer_free(a);
}

/* Numbers that name threads and processes come with the words that filters take. */
static void test_words(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);
        struct query *q = asker_query(k);
        const struct trace_view *v = query_view(q);
        struct str part = {0}, word = {0};

        (void)state;
        assert_true(v->n_threads > 1);
        str_addf(&part, "\"threads\":[{\"id\":1,\"tid\":%u,", v->threads[1].start.tid);
        expect(k, "SELECT 1 AS thread", "", str_text(&part));
        expect(k, "SELECT 1 AS freed_by", "", str_text(&part));
        expect(k, "SELECT 1 AS number", "", "\"threads\":[],\"processes\":[]");
        expect(k, "SELECT 99999 AS thread, -1 AS process, 'x' AS thread", "",
               "\"threads\":[],\"processes\":[]");
        query_add_process_word(q, 0, &word);
        str_clear(&part);
        str_addf(&part, "\"processes\":[{\"id\":0,\"word\":\"%s\",", str_text(&word));
        expect(k, "SELECT 0 AS process", "", str_text(&part));
        str_done(&part);
        str_done(&word);
        asker_free(k);
        answerer_free(a);
}

/* Numbers of the other trace name something else. */
static void test_other(void **state) {
        struct answerer *a = written_traces(OLD);
        struct asker *k = asker_new(a);

        (void)state;
        expect(k, "SELECT m.name, o.name, o.name || '' FROM marks m, other.marks o", "",
               "[{\"name\":\"name\",\"trace\":\"main\",\"table\":\"marks\",\"column\":\"name\"},"
               "{\"name\":\"name\",\"trace\":\"other\",\"table\":\"marks\",\"column\":\"name\"},"
               "{\"name\":\"o.name || ''\",\"trace\":null,");
        expect(k, "SELECT 1 AS thread", "", "\"threads\":[]");
        asker_free(k);
        answerer_free(a);
        a = written_traces(NULL);
        k = asker_new(a);
        expect_refusal(k, "SELECT * FROM other.marks", -EINVAL, "other.marks");
        asker_free(k);
        answerer_free(a);
}

static void test_processes(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);
        struct told all = ask_sql(k, "SELECT sum(allocations) FROM sites", "");
        struct told one = ask_sql(k, "SELECT sum(allocations) FROM sites", "&process=main");

        (void)state;
        assert_int_equal(all.r | one.r, 0);
        assert_string_not_equal(strstr(all.text, "\"rows\""), strstr(one.text, "\"rows\""));
        free(all.text);
        free(one.text);
        asker_free(k);
        answerer_free(a);
}

static bool stop_soon(void *ctx, uint64_t done, uint64_t total) {
        unsigned *n_left = ctx;

        (void)done, (void)total;
        return *n_left && --*n_left;
}

static void test_stops(void **state) {
        static const char endless[] =
                "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) "
                "SELECT count(*) FROM c";
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);
        unsigned n_left = 5;

        (void)state;
        asker_set_progress(k, stop_soon, &n_left);
        expect_refusal(k, endless, -ECANCELED, "stopped");
        asker_set_progress(k, NULL, NULL);
        asker_set_deadline(k, clock_now_ns() + 50000000);
        expect_refusal(k, endless, -ETIME, "stopped");
        asker_set_deadline(k, 0);
        expect(k, "SELECT 1", "", "[[1]]");
        asker_free(k);
        answerer_free(a);
}

static void test_memory(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);

        (void)state;
        expect_refusal(k,
                       "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c LIMIT 2000) "
                       "SELECT group_concat(y) FROM (SELECT hex(zeroblob(400000)) || x AS y FROM c "
                       "ORDER BY y)",
                       -E2BIG, "");
        expect(k, "SELECT 1", "", "[[1]]");
        asker_free(k);
        answerer_free(a);
}

/* A recipe has its defaults, takes sizes as options do, and says what to look at. */
static void test_recipes(void **state) {
        struct answerer *a = written_traces(NULL);
        struct asker *k = asker_new(a);
        struct err e = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        (void)state;
        assert_int_equal(answer(k, "sql", "recipe=growing&p-since=10ms&p-top=2", 35, out, &e), 0);
        fclose(out);
        assert_non_null(strstr(text, "\"name\":\"function\""));
        assert_non_null(strstr(text, "\"says\":\""));
        assert_null(strstr(text, "\"says\":null"));
        free(text);
        asker_free(k);
        answerer_free(a);
}

static void test_schema(void **state) {
        struct answerer *a = written_traces(OLD);
        struct asker *k = asker_new(a);
        struct err e = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        (void)state;
        assert_int_equal(answer(k, "sql-schema", "", 0, out, &e), 0);
        fclose(out);
        assert_non_null(strstr(text, "{\"schema\":\"silt.sql-schema/1\",\"has_other\":true,"));
        assert_non_null(strstr(text, "{\"name\":\"marks\",\"help\":\""));
        assert_non_null(strstr(text, "{\"name\":\"time_ns\",\"help\":\""));
        assert_non_null(strstr(text, "\"usage\":\"at(TIME)\""));
        assert_non_null(strstr(text, "{\"name\":\"growing\",\"help\":\"Which "));
        assert_non_null(strstr(text, "{\"name\":\"since\",\"without\":\""));
        free(text);
        asker_free(k);
        answerer_free(a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),    cmocka_unit_test(test_parameters),
                cmocka_unit_test(test_rows),      cmocka_unit_test(test_words),
                cmocka_unit_test(test_advice),    cmocka_unit_test(test_other),
                cmocka_unit_test(test_processes), cmocka_unit_test(test_stops),
                cmocka_unit_test(test_memory),    cmocka_unit_test(test_schema),
                cmocka_unit_test(test_recipes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
