/* SPDX-License-Identifier: MIT */
/* Answers as tables, JSON and CSV, in a file and on terminals of several widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "keep/testing/graph_trace.h"
#include "name/name.h"
#include "sql/sql.h"
#include "sql/sql_print.h"

#define TRACE_PATH "sql_print_test.silt"

struct setting {
        struct query *q;
        struct names *names;
        struct sql *sql;
        char *text;
        size_t n;
};

static struct setting set;

static int begin(void **state) {
        struct err err = {0};
        const struct graph_bytes none = {0};

        (void)state;
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("COLUMNS");
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
        free(set.text);
        unlink(TRACE_PATH);
        return 0;
}

static int print_to(FILE *out, const char *statement, enum sql_form form) {
        struct sql_rows *rows = NULL;
        struct err err = {0};
        int r;

        if (sql_prepare(set.sql, statement, &rows, NULL, &err) < 0)
                fail_msg("%s: %s", statement, err.text);
        r = sql_print(set.sql, rows, &(struct sql_print){.out = out, .form = form}, &err);
        sql_rows_free(rows);
        return r;
}

/* What a file gets. */
static const char *printed(const char *statement, enum sql_form form) {
        FILE *out;

        free(set.text);
        set.text = NULL;
        out = open_memstream(&set.text, &set.n);
        assert_int_equal(print_to(out, statement, form), 0);
        fclose(out);
        return set.text;
}

/* What a terminal of that width gets, without colours. */
static const char *shown(const char *statement, unsigned short width) {
        struct winsize size = {.ws_row = 50, .ws_col = width};
        int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
        struct termios raw;
        FILE *out;
        ssize_t n;

        assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        slave = open(ptsname(master), O_RDWR | O_NOCTTY);
        assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
        tcgetattr(slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
        out = fdopen(slave, "w");
        setenv("NO_COLOR", "1", 1);
        assert_int_equal(print_to(out, statement, SQL_FORM_TABLE), 0);
        fflush(out);
        free(set.text);
        set.text = calloc(1, 1 << 16);
        /* it comes in pieces; all of it is less than a terminal's buffer */
        for (set.n = 0; !strstr(set.text, " row"); set.n += (size_t)n) {
                n = read(master, set.text + set.n, (1 << 16) - 1 - set.n);
                assert_true(n > 0);
        }
        while (set.text[set.n - 1] != '\n')
                set.n += (size_t)read(master, set.text + set.n, 1);
        fclose(out);
        close(master);
        return set.text;
}

static void test_table(void **state) {
        (void)state;
        assert_string_equal(printed("SELECT 1 AS a, 'x' AS name, NULL AS c, 12.5 AS d "
                                    "UNION ALL SELECT 1000, 'longer', 3, NULL",
                                    SQL_FORM_TABLE),
                            "   a  name       c     d\n"
                            "────  ──────  ────  ────\n"
                            "   1  x       NULL  12.5\n"
                            "1000  longer     3  NULL\n"
                            "2 rows\n");
        assert_string_equal(
                printed("SELECT sum(time_ns) AS moment, max(name) AS name FROM marks WHERE 0",
                        SQL_FORM_TABLE),
                "moment  name\n──────  ────\nNULL    NULL\n1 row\n");
        assert_string_equal(printed("SELECT name FROM marks WHERE 0", SQL_FORM_TABLE),
                            "name\n────\n0 rows\n");
        assert_string_equal(printed("SELECT 7", SQL_FORM_TABLE), "7\n─\n7\n1 row\n");
}

/* What bytes() makes stands as the number does; one text among them, and none does. */
static void test_figures(void **state) {
        (void)state;
        assert_string_equal(
                printed("SELECT bytes(column1) AS b FROM (VALUES (5), (5000000), (NULL))",
                        SQL_FORM_TABLE),
                "      b\n───────\n    5 B\n4.8 MiB\n   NULL\n3 rows\n");
        assert_string_equal(printed("SELECT column1 AS b FROM (VALUES (5), ('text'))",
                                    SQL_FORM_TABLE),
                            "b\n────\n5\ntext\n2 rows\n");
}

static void test_lines(void **state) {
        (void)state;
        assert_string_equal(printed("SELECT 'one' || char(10) || 'second' || char(10) AS t, 5 AS n "
                                    "UNION ALL SELECT 'z', 66",
                                    SQL_FORM_TABLE),
                            "t        n\n──────  ──\none      5\nsecond\nz       66\n2 rows\n");
}

static void test_hostile(void **state) {
        const char *statement = "SELECT char(27) || '[2J' || char(8238) || 'x' AS \"\033[31m\"";

        (void)state;
        assert_string_equal(printed(statement, SQL_FORM_TABLE),
                            "\\x1b[31m\n────────────────\n\\x1b[2J\\u{202e}x\n1 row\n");
        assert_null(strchr(printed(statement, SQL_FORM_JSON), '\033'));
        assert_null(strchr(shown(statement, 80), '\033'));
}

static size_t widest(const char *text) {
        size_t most = 0;

        while (*text) {
                size_t n = strcspn(text, "\n");
                char line[4096];

                snprintf(line, sizeof(line), "%.*s", (int)n, text);
                if (str_width(line) > most)
                        most = str_width(line);
                text += n + (text[n] == '\n');
        }
        return most;
}

/* Texts are cut as far as the terminal asks for, numbers never; where there is room, or no terminal, nothing is. */
static void test_widths(void **state) {
        const char *statement =
                "SELECT 123456789012 AS n, printf('%.100c', 'x') AS t, 'short' AS s";
        const char *text;

        (void)state;
        text = shown(statement, 60);
        assert_int_equal(widest(text), 60);
        assert_non_null(strstr(text, "123456789012"));
        assert_non_null(strstr(text, "…"));
        assert_non_null(strstr(text, "short"));
        text = shown(statement, 80);
        assert_int_equal(widest(text), 80);
        text = shown(statement, 200);
        assert_null(strstr(text, "…"));
        assert_int_equal(widest(text), 12 + 2 + 100 + 2 + 5);
        assert_null(strstr(printed(statement, SQL_FORM_TABLE), "…"));
        text = shown("SELECT printf('%.290c', 'x') AS t", 300); /* wider than prose may be */
        assert_null(strstr(text, "…"));
}

/* More than fits: each value on a line of its own. */
static void test_tall(void **state) {
        const char *statement =
                "SELECT 123456789012345 AS first_number, 123456789012345 AS second_number, "
                "123456789012345 AS third, 'text' AS words, NULL AS none "
                "UNION ALL SELECT 1, 2, 3, 'a' || char(10) || 'b', 5";

        (void)state;
        assert_string_equal(shown(statement, 60), "row 1\n"
                                                  "  first_number   123456789012345\n"
                                                  "  second_number  123456789012345\n"
                                                  "  third          123456789012345\n"
                                                  "  words          text\n"
                                                  "  none           NULL\n"
                                                  "row 2\n"
                                                  "  first_number   1\n"
                                                  "  second_number  2\n"
                                                  "  third          3\n"
                                                  "  words          a\n"
                                                  "                 b\n"
                                                  "  none           5\n"
                                                  "2 rows\n");
        assert_null(strstr(shown(statement, 80), "row 1"));
        assert_null(strstr(printed(statement, SQL_FORM_TABLE), "row 1"));
}

/* A command is to be copied, and what was found to be read: neither is cut. */
static void test_findings(void **state) {
        const char *statement =
                "SELECT 'note' AS severity, 'one two three four five six seven eight nine ten eleven' AS finding, "
                "'silt report a.silt --callers ' || printf('%.40c', 'f') AS next";

        (void)state;
        assert_string_equal(
                shown(statement, 50),
                "row 1\n"
                "  severity  note\n"
                "  finding   one two three four five six seven eight nine ten\n"
                "            eleven\n"
                "  next      silt report a.silt --callers ffffffffffffffffffffffffffffffffffffffff\n"
                "1 row\n");
        assert_null(strstr(shown(statement, 200), "row 1\n "));
}

/* Rows beyond the first batch are all there, and in line. */
static void test_many_rows(void **state) {
        const char *text;
        size_t n_lines = 0;

        (void)state;
        text = printed("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t LIMIT 2500) "
                       "SELECT x, 'v' || x AS v FROM t",
                       SQL_FORM_TABLE);
        for (const char *c = text; *c; c++)
                n_lines += *c == '\n';
        assert_int_equal(n_lines, 2 + 2500 + 1);
        assert_non_null(strstr(text, "\n1000  v1000\n1001  v1001\n"));
        assert_non_null(strstr(text, "\n2500  v2500\n2,500 rows\n"));
}

static void test_json(void **state) {
        (void)state;
        assert_string_equal(
                printed("SELECT 9007199254740993 AS a, 0.1 AS a, 3.0 AS b, 1e999 AS c, NULL AS d, "
                        "'x' || char(0) || '\"' AS e, X'00ff' AS f, 1e300 AS g, 2.5e-9 AS h",
                        SQL_FORM_JSON),
                "{\"schema\":\"silt.sql/1\",\"columns\":[\"a\",\"a\",\"b\",\"c\",\"d\",\"e\","
                "\"f\",\"g\",\"h\"],\"rows\":[[9007199254740993,0.1,3.0,null,null,"
                "\"x\\u0000\\\"\",\"X'00FF'\",1e+300,2.5e-09]],\"incomplete\":\"\"}\n");
        assert_string_equal(
                printed("SELECT 1 AS a WHERE 0", SQL_FORM_JSON),
                "{\"schema\":\"silt.sql/1\",\"columns\":[\"a\"],\"rows\":[],\"incomplete\":\"\"}\n");
}

static void test_csv(void **state) {
        (void)state;
        assert_string_equal(printed("SELECT 1 AS \"a,b\", NULL AS n, '' AS e, 'say \"hi\"' AS q, "
                                    "'two' || char(10) || 'lines' AS l, 1.5 AS r",
                                    SQL_FORM_CSV),
                            "\"a,b\",n,e,q,l,r\r\n"
                            "1,,\"\",\"say \"\"hi\"\"\",\"two\nlines\",1.5\r\n");
}

/* An answer that fails at its end is not taken for a whole one. */
static void test_failure(void **state) {
        static const char statement[] =
                "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t LIMIT 2500) "
                "SELECT CASE WHEN x < 2500 THEN x ELSE at('nonsense') END AS v FROM t";

        (void)state;
        for (int form = SQL_FORM_TABLE; form <= SQL_FORM_CSV; form++) {
                char *text = NULL;
                size_t n;
                FILE *out = open_memstream(&text, &n);

                assert_true(print_to(out, statement, (enum sql_form)form) < 0);
                fclose(out);
                assert_true(n > 0);
                assert_null(strstr(text, "2,500 rows"));
                assert_null(strstr(text, "incomplete"));
                if (form == SQL_FORM_TABLE)
                        assert_non_null(strstr(text, "2,499 rows so far\n"));
                free(text);
        }
}

static bool stop_at_once(void *ctx, uint64_t n_rows_read) {
        (void)ctx, (void)n_rows_read;
        return false;
}

static void count_calls(void *ctx, FILE *to) {
        (void)to;
        ++*(int *)ctx;
}

static void test_stopped(void **state) {
        struct sql_rows *rows = NULL;
        struct err err = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        int n_calls = 0, r;

        (void)state;
        sql_set_progress(set.sql, stop_at_once, NULL);
        assert_int_equal(
                sql_prepare(set.sql,
                            "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
                            "SELECT count(*) FROM t",
                            &rows, NULL, &err),
                0);
        r = sql_print(set.sql, rows,
                      &(struct sql_print){.out = out,
                                          .before_output = count_calls,
                                          .ctx = &n_calls},
                      &err);
        assert_int_equal(r, -ECANCELED);
        fclose(out);
        assert_string_equal(text, "");
        assert_int_equal(n_calls, 0);
        free(text);
        sql_rows_free(rows);
        sql_set_progress(set.sql, NULL, NULL);
}

static void test_forms(void **state) {
        enum sql_form form = SQL_FORM_TABLE;

        (void)state;
        assert_int_equal(sql_form_parse("csv", &form), 0);
        assert_int_equal(form, SQL_FORM_CSV);
        assert_int_equal(sql_form_parse("xml", &form), -EINVAL);
        assert_int_equal(form, SQL_FORM_CSV);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),   cmocka_unit_test(test_figures),
                cmocka_unit_test(test_lines),   cmocka_unit_test(test_hostile),
                cmocka_unit_test(test_widths),  cmocka_unit_test(test_findings),
                cmocka_unit_test(test_tall),    cmocka_unit_test(test_many_rows),
                cmocka_unit_test(test_json),    cmocka_unit_test(test_csv),
                cmocka_unit_test(test_failure), cmocka_unit_test(test_stopped),
                cmocka_unit_test(test_forms),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
