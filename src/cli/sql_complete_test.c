/* SPDX-License-Identifier: MIT */
/* What Tab offers, and which name is suggested for a wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/sql_complete.h"
#include "keep/testing/graph_trace.h"
#include "name/name.h"
#include "sql/sql_advice.h"

#define TRACE_PATH "sql_complete_test.silt"

struct setting {
        struct query *q;
        struct names *names;
        struct sql *sql;
        struct str text;
};

static struct setting set;

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

/* The words offered where | stands, with blanks between them. */
static const char *offered(const char *text, bool with_other) {
        size_t cursor = strcspn(text, "|");
        struct sql_completion c;
        struct str whole = {0};

        str_addn(&whole, text, cursor);
        str_add(&whole, text + cursor + 1);
        sql_complete(set.sql, with_other, str_text(&whole), cursor, &c);
        str_clear(&set.text);
        for (size_t i = 0; i < c.words.n; i++)
                str_addf(&set.text, "%s%s", i ? " " : "", c.words.items[i]);
        sql_completion_done(&c);
        str_done(&whole);
        return str_text(&set.text);
}

static void test_tables(void **state) {
        (void)state;
        assert_string_equal(offered("SELECT * FROM mark|", false), "marks");
        assert_string_equal(offered("SELECT * FROM marks m JOIN mark|", false), "marks");
        assert_string_equal(offered("SELECT * FROM marks m, mark|", false), "marks");
        assert_non_null(strstr(offered("SELECT * FROM |", false), "marks"));
        assert_null(strstr(offered("SELECT * FROM |", false), "other."));
        assert_non_null(strstr(offered("SELECT * FROM |", true), "other."));
        assert_string_equal(offered("SELECT * FROM other.mark|", true), "marks");
}

static void test_columns(void **state) {
        (void)state;
        assert_string_equal(offered("SELECT time| FROM marks", false), "time_ns");
        assert_string_equal(offered("SELECT m.| FROM marks AS m", false), "kind name pid time_ns");
        assert_string_equal(offered("SELECT m.| FROM marks m", false), "kind name pid time_ns");
        assert_string_equal(offered("SELECT marks.na| FROM other.marks", true), "name");
        assert_string_equal(offered("SELECT x FROM marks m WHERE M.K|", false), "kind");
        assert_string_equal(offered("SELECT | FROM marks m", false), "kind m. name pid time_ns");
        /* of whatever is called so, while nothing is */
        assert_non_null(strstr(offered("SELECT z.ki|", false), "kind"));
        assert_string_equal(offered("SELECT 'FROM sites' AS x, na| FROM marks", false),
                            "name natural");
        assert_string_equal(offered("SELECT /* FROM sites s */ na| FROM marks -- FROM sites",
                                    false),
                            "name natural");
}

static void test_others(void **state) {
        (void)state;
        assert_string_equal(offered("SELECT byte|", false), "bytes bytes(");
        assert_string_equal(offered("SELECT coal|", false), "coalesce(");
        assert_string_equal(offered("SEL|", false), "SELECT");
        assert_string_equal(offered("sel|", false), "select");
        assert_string_equal(offered(".sch|", false), "schema");
        assert_string_equal(offered(".mode c|", false), "csv");
        assert_string_equal(offered(".schema mar|", false), "marks");
        assert_string_equal(offered(".explain SELECT * FROM mar|", false), "marks");
        assert_string_equal(offered("SELECT zzzz|", false), "");
        assert_string_equal(offered("|", false), "");
}

static void test_common(void **state) {
        struct sql_completion c;

        (void)state;
        sql_complete(set.sql, false, "SELECT in", 9, &c);
        assert_true(c.words.n > 1);
        assert_int_equal(c.begin, 7);
        assert_int_equal(sql_completion_common(&c), 2);
        sql_completion_done(&c);
        assert_int_equal(sql_completion_common(&c), 0);
}

static void test_called(void **state) {
        const struct sql_table_info *t;

        (void)state;
        t = sql_table_called(set.sql, "SELECT * FROM marks AS m", "m", 1);
        assert_non_null(t);
        assert_string_equal(t->name, "marks");
        assert_null(sql_table_called(set.sql, "SELECT * FROM marks AS m", "k", 1));
}

static const char *advised(const char *statement) {
        static struct err err;
        struct sql_rows *rows = NULL;

        err = (struct err){0};
        assert_true(sql_prepare(set.sql, statement, &rows, NULL, &err) < 0);
        sql_advise(set.sql, statement, true, &err);
        return err.text;
}

static void test_advice(void **state) {
        (void)state;
        assert_string_equal(advised("SELECT * FROM mark"),
                            "no such table: mark: did you mean 'marks'?");
        assert_string_equal(advised("SELECT m.nmae FROM marks m"),
                            "no such column: m.nmae: did you mean 'name'?");
        assert_string_equal(advised("SELECT text FROM marks"),
                            "no such column: text: .schema marks lists them");
        assert_string_equal(advised("SELECT key FROM marks"),
                            "no such column: key: .schema marks lists them");
        assert_string_equal(advised("SELECT nmae FROM Marks, notes"),
                            "no such column: nmae: did you mean 'name'?");
        assert_string_equal(advised("SELECT * FROM other.marks"),
                            "no such table: other.marks: add --other FILE");
        assert_string_equal(advised("SELECT stak_text(1)"),
                            "no such function: stak_text: did you mean 'stack_text'?");
        assert_string_equal(advised("SELECT 1 FORM marks"), "near \"marks\": syntax error");
        assert_string_equal(advised("SELECT * FORM marks"),
                            "near \"FORM\": syntax error: did you mean 'FROM'?");
        assert_string_equal(advised("SELECT * FROM qqqqqqqq"),
                            "no such table: qqqqqqqq: .tables lists them");
        assert_string_equal(advised("SELECT * FROM marks WHERE name = \"qqqqqqqq\""),
                            "no such column: qqqqqqqq: a text is written in single quotes");
        assert_string_equal(advised("SELECT * FROM marks WHERE \"nmae\" = 'a'"),
                            "no such column: nmae: did you mean 'name'?");
        assert_string_equal(advised("SELECT qqqqqqqq FROM marks"),
                            "no such column: qqqqqqqq: .schema marks lists them");
}

static void test_statements_that_end_too_early(void **state) {
        (void)state;
        assert_string_equal(advised("SELECT"),
                            "the statement is not complete: it ends behind 'SELECT'");
        assert_string_equal(advised("SELECT name FROM /* ( */ -- '"),
                            "the statement is not complete: it ends behind 'FROM'");
        assert_string_equal(advised("SELECT name FROM marks WHERE; SELECT 1"),
                            "the statement is not complete: it ends behind 'WHERE'");
        assert_string_equal(
                advised("SELECT count(*"),
                "the statement is not complete: it ends behind '*', and a '(' has no ')'");
        assert_string_equal(advised("SELECT name FROM marks WHERE name = 'it''s"),
                            "the text that begins with 'it''s has no end");
        assert_string_equal(advised("SELECT \"a\"\"b FROM marks\nWHERE name = 'a'"),
                            "the name that begins with \"a\"\"b FROM marks?WHERE n has no end");
        assert_string_equal(
                advised("SELECT name FROM marks LIMIT '\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"),
                "the text that begins with '\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                " has no end");
}

/* Who has no shell is not told of its commands. */
static void test_advice_without_a_shell(void **state) {
        struct sql_rows *rows = NULL;
        struct err err = {0};

        (void)state;
        assert_true(sql_prepare(set.sql, "SELECT * FROM mark", &rows, NULL, &err) < 0);
        sql_advise(set.sql, "SELECT * FROM mark", false, &err);
        assert_string_equal(err.text, "no such table: mark: did you mean 'marks'?");
        assert_true(sql_prepare(set.sql, "SELECT qqqqqqqq FROM marks", &rows, NULL, &err) < 0);
        sql_advise(set.sql, "SELECT qqqqqqqq FROM marks", false, &err);
        assert_string_equal(err.text, "no such column: qqqqqqqq");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tables),
                cmocka_unit_test(test_columns),
                cmocka_unit_test(test_others),
                cmocka_unit_test(test_common),
                cmocka_unit_test(test_called),
                cmocka_unit_test(test_advice),
                cmocka_unit_test(test_statements_that_end_too_early),
                cmocka_unit_test(test_advice_without_a_shell),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
