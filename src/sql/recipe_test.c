/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/query.h"
#include "show/testing/server_trace.h"
#include "sql/recipe.h"

static const char example[] = "-- Which blocks are large?\n"
                              "-- over = 1M: blocks larger than this\n"
                              "--   top = 10: show so many\n"
                              "-- min_age = @warm: a time: with a colon in its help\n"
                              "-- who = : a name\n"
                              "-- says: {name} is {n}, over {:over}.\n"
                              "-- says nothing: none over {:over}\n"
                              "\n"
                              "SELECT 'a'\n"
                              "-- not at the begin = 1: no parameter\n"
                              "WHERE 1\n";

static struct recipe *of(const char *text) {
        return recipe_new("large", NULL, text, strlen(text));
}

static void test_comment_lines(void **state) {
        _cleanup_(recipe_freep) struct recipe *r = of(example);

        (void)state;
        assert_null(r->trouble);
        assert_string_equal(r->name, "large");
        assert_string_equal(r->help, "Which blocks are large?");
        assert_string_equal(r->says, "{name} is {n}, over {:over}.");
        assert_string_equal(r->says_nothing, "none over {:over}");
        assert_int_equal(r->n_parameters, 4);
        assert_string_equal(r->parameters[0].name, "over");
        assert_string_equal(r->parameters[0].without, "1M");
        assert_string_equal(r->parameters[0].help, "blocks larger than this");
        assert_true(r->parameters[0].is_size);
        assert_false(r->parameters[0].is_number);
        assert_true(r->parameters[1].is_number);
        assert_string_equal(r->parameters[2].without, "@warm");
        assert_string_equal(r->parameters[2].help, "a time: with a colon in its help");
        assert_string_equal(r->parameters[3].without, "");
        assert_memory_equal(r->statement, "SELECT 'a'\n", 11);
        assert_ptr_equal(recipe_parameter(r, "min-age", 7), &r->parameters[2]);
        assert_ptr_equal(recipe_parameter(r, "min_age", 7), &r->parameters[2]);
        assert_null(recipe_parameter(r, "min", 3));
        assert_null(recipe_parameter(r, "min-ages", 8));
}

static void expect_trouble(const char *text, size_t n, const char *what) {
        _cleanup_(recipe_freep) struct recipe *r = recipe_new("x", "x.sql", text, n);

        assert_non_null(r->trouble);
        if (!strstr(r->trouble, what))
                fail_msg("'%s' does not say '%s'", r->trouble, what);
}

static void test_what_is_no_recipe(void **state) {
        static char large[RECIPE_MAX_BYTES + 1];
        struct str many = {0};
        _cleanup_(recipe_freep) struct recipe *r =
                recipe_new("../x", "x.sql", "-- a\nSELECT 1", 13);

        (void)state;
        assert_non_null(strstr(r->trouble, "its name"));
        expect_trouble("", 0, "first line");
        expect_trouble("SELECT 1", 8, "first line");
        expect_trouble("--\nSELECT 1", 11, "first line");
        expect_trouble("-- only help", 12, "no statement");
        expect_trouble("-- help\n\n  \n", 12, "no statement");
        expect_trouble("-- help\nSELECT '\0'", 18, "UTF-8");
        expect_trouble("-- h\xff\nSELECT 1", 14, "UTF-8");
        expect_trouble("-- h\n-- a = 1: x\n-- a = 2: y\nSELECT 1", 37, "a twice");
        memset(large, ' ', sizeof(large));
        expect_trouble(large, sizeof(large), "64 KiB");
        str_add(&many, "-- h\n");
        for (int i = 0; i <= RECIPE_MAX_PARAMETERS; i++)
                str_addf(&many, "-- p%d = 1: x\n", i);
        str_add(&many, "SELECT 1");
        expect_trouble(str_text(&many), many.n, "more than 16");
        str_done(&many);
}

/* ---- with an engine ------------------------------------------------------------------------------ */

struct engine {
        struct query *q;
        struct sql *sql;
};

static int open_engine(void **state) {
        static struct engine e;
        struct err err = {0};

        server_trace_write("recipe_test.silt");
        if (query_open("recipe_test.silt", &e.q, &err) < 0 ||
            sql_open(&(struct sql_options){.trace = {e.q, query_names(e.q), "recipe_test.silt"},
                                           .process = QUERY_ALL},
                     &e.sql, &err) < 0) {
                print_error("%s\n", err.text);
                return -1;
        }
        *state = &e;
        return 0;
}

static int close_engine(void **state) {
        struct engine *e = *state;

        sql_free(e->sql);
        query_free(e->q);
        return unlink("recipe_test.silt");
}

/* Binds, steps once, and says. */
static int say(struct sql *s, const char *text, const struct recipe_value *values, size_t n,
               struct str *to, struct err *reterr) {
        _cleanup_(recipe_freep) struct recipe *r = of(text);
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        int x;

        assert_null(r->trouble);
        str_clear(to);
        x = sql_prepare(s, r->statement, &rows, NULL, reterr);
        if (x >= 0)
                x = recipe_bind(r, rows, values, n, reterr);
        if (x < 0)
                return x;
        x = sql_next(rows, reterr);
        return x < 0 ? x : recipe_says(r, rows, x > 0, values, n, to, reterr);
}

#define VALUES(...)                                                                                \
        (const struct recipe_value[]){__VA_ARGS__},                                                \
                ARRAY_SIZE(((const struct recipe_value[]){__VA_ARGS__}))

static void test_sentence(void **state) {
        struct engine *e = *state;
        struct err err = {0};
        struct str t = {0};
        static const char text[] =
                "-- h\n-- over = 1M: size\n-- min_age = 5s: age\n-- says: {a|block} of {one|block} and {b_bytes}, {c}; {:over}, {:min_age} {\n"
                "-- says nothing: nothing over {:over}\n"
                "SELECT :over AS a, 1 AS one, 2048 AS b_bytes, 'x\x1b' AS c, :min_age WHERE :over < 3000000";

        assert_int_equal(say(e->sql, text, NULL, 0, &t, &err), 0);
        assert_string_equal(str_text(&t),
                            "1,048,576 blocks of 1 block and 2.0 KiB, x\\x1b; 1M, 5s {");
        assert_int_equal(say(e->sql, text, VALUES({"over", "2K"}, {"min-age", "@a"}), &t, &err), 0);
        assert_string_equal(str_text(&t), "2,048 blocks of 1 block and 2.0 KiB, x\\x1b; 2K, @a {");
        assert_int_equal(say(e->sql, text, VALUES({"over", "3M"}), &t, &err), 0);
        assert_string_equal(str_text(&t), "nothing over 3M");
        assert_int_equal(say(e->sql, text, VALUES({"over", "x"}), &t, &err), -EINVAL);
        assert_non_null(strstr(err.text, "--over"));
        str_done(&t);
}

static void test_wrong_sentences_and_values(void **state) {
        struct engine *e = *state;
        struct err err = {0};
        struct str t = {0};

        assert_int_equal(say(e->sql, "-- h\n-- says: {no}\nSELECT 1 AS a", NULL, 0, &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "{no}"));
        assert_int_equal(say(e->sql, "-- h\n-- says nothing: {a}\nSELECT 1 AS a WHERE 0", NULL, 0,
                             &t, &err),
                         -EINVAL);
        assert_int_equal(say(e->sql, "-- h\nSELECT :who", NULL, 0, &t, &err), -EINVAL);
        assert_non_null(strstr(err.text, "does not declare :who"));
        assert_int_equal(say(e->sql, "-- h\n-- who = : the name\nSELECT :who", NULL, 0, &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "--who"));
        assert_int_equal(say(e->sql, "-- h\n-- top = 10: n\nSELECT :top", VALUES({"top", "ten"}),
                             &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "not a whole number"));
        /* bounds alone: it must be given, and is a number */
        assert_int_equal(say(e->sql, "-- h\n-- n = (1..): how many\nSELECT :n", NULL, 0, &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "needs --n: how many"));
        assert_int_equal(say(e->sql, "-- h\n-- n = (1..): how many\nSELECT :n", VALUES({"n", "0"}),
                             &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "not 1 or more"));
        assert_int_equal(say(e->sql, "-- h\n-- n = (1..): how many\nSELECT :n",
                             VALUES({"n", "many"}), &t, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "not a whole number"));
        assert_int_equal(say(e->sql, "-- h\nSELECT 1", NULL, 0, &t, &err), 0);
        assert_string_equal(str_text(&t), "");
        str_done(&t);
}

/* What is needed may depend on what was asked for. */
static void test_needs(void **state) {
        _cleanup_(recipe_freep) struct recipe *r = of(
                "-- h\n-- who = any (any|one): x\n-- needs :who = 'any': who it was\nSELECT :who");
        struct engine *e = *state;
        struct err err = {0};

        assert_null(r->trouble);
        assert_int_equal(recipe_check_needs(r, e->sql, NULL, 0, &err), 0);
        assert_int_equal(recipe_check_needs(r, e->sql, VALUES({"who", "one"}), &err), -ENODATA);
        assert_string_equal(err.text,
                            "this trace does not tell who it was, which the recipe large needs");
}

static void test_written_out(void **state) {
        _cleanup_(recipe_freep) struct recipe *r =
                of("-- h\n-- a = 1K: x\n-- b = it's: y\n-- c = 7: z\n"
                   "SELECT :a, ':a', \":b\" -- :c\n, :b /* :a */ + :c, :none;");
        struct str t = {0};
        struct err err = {0};

        (void)state;
        assert_null(r->trouble);
        assert_int_equal(recipe_write_out(r, VALUES({"c", "-8"}), &t, &err), 0);
        assert_string_equal(str_text(&t),
                            "SELECT 1024, ':a', \":b\" -- :c\n, 'it''s' /* :a */ + -8, :none;");
        str_done(&t);
}

static void test_values_and_headings(void **state) {
        static const struct {
                const char *column;
                struct sql_value v;
                const char *shown, *heading;
        } cases[] = {
                {"held_bytes", {.kind = SQL_INTEGER, .integer = 1 << 20}, "1.0 MiB", "held"},
                {"held_bytes", {.kind = SQL_INTEGER, .integer = -2048}, "-2.0 KiB", "held"},
                {"took_ns", {.kind = SQL_INTEGER, .integer = 1500000000}, "1.5 s", "took"},
                {"per_request", {.kind = SQL_INTEGER, .integer = 12345}, "12,345", "per request"},
                {"n",
                 {.kind = SQL_INTEGER, .integer = INT64_MIN},
                 "-9,223,372,036,854,775,808",
                 "n"},
                {"pid", {.kind = SQL_INTEGER, .integer = 12345}, "12345", "pid"},
                {"_bytes", {.kind = SQL_INTEGER, .integer = 12345}, "12,345", " bytes"},
                {"pct", {.kind = SQL_REAL, .real = 12.5}, "12.5", "pct"},
                {"x", {.kind = SQL_NULL}, "?", "x"},
                {"x", {.kind = SQL_TEXT, .text = "a\nb", .n_bytes = 3}, "a\\x0ab", "x"},
                {"x", {.kind = SQL_BLOB, .text = "ab", .n_bytes = 2}, "2 bytes", "x"},
        };

        struct engine *e = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct str t = {0}, heading = {0};

                recipe_add_value(&t, e->q, cases[i].column, cases[i].v);
                assert_string_equal(str_text(&t), cases[i].shown);
                recipe_add_heading(&heading, cases[i].column);
                assert_string_equal(str_text(&heading), cases[i].heading);
                str_done(&t);
                str_done(&heading);
        }
}

static void put(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static void test_folders(void **state) {
        _cleanup_(recipes_freep) struct recipes *all = NULL;
        char folder[] = "recipe_test.XXXXXX";
        char path[100];
        struct err err = {0};

        (void)state;
        assert_non_null(mkdtemp(folder));
        assert_int_equal(recipes_load(false, "no/such/folder", &all, &err), -ENOENT);
        assert_null(all);
        for (int i = 0; i < 5; i++) {
                static const char *const names[] = {"mine.sql", "growing.sql", "broken.sql",
                                                    "notes.txt", ".hidden.sql"};

                snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
                put(path, i == 2 ? "SELECT 1" : "-- Mine?\nSELECT 1");
        }
        snprintf(path, sizeof(path), "%s/pipe.sql", folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(recipes_load(false, folder, &all, &err), 0);
        assert_string_equal(recipes_find(all, "mine")->help, "Mine?");
        assert_string_equal(recipes_find(all, "growing")->help, "Mine?");
        assert_non_null(strstr(recipes_find(all, "broken")->trouble, "first line"));
        assert_non_null(strstr(recipes_find(all, "pipe")->trouble, "regular file"));
        assert_null(recipes_find(all, "notes"));
        assert_null(recipes_find(all, ".hidden"));
        for (size_t i = 1; i < recipes_n(all); i++)
                assert_true(strcmp(recipes_at(all, i - 1)->name, recipes_at(all, i)->name) < 0);
        for (size_t i = 0; i < recipes_n(all); i++)
                if (!recipes_at(all, i)->path)
                        assert_null(recipes_at(all, i)->trouble);
        snprintf(path, sizeof(path), "rm -r %s", folder);
        assert_int_equal(system(path), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_comment_lines),
                cmocka_unit_test(test_what_is_no_recipe),
                cmocka_unit_test_setup_teardown(test_sentence, open_engine, close_engine),
                cmocka_unit_test_setup_teardown(test_wrong_sentences_and_values, open_engine,
                                                close_engine),
                cmocka_unit_test_setup_teardown(test_needs, open_engine, close_engine),
                cmocka_unit_test(test_written_out),
                cmocka_unit_test_setup_teardown(test_values_and_headings, open_engine,
                                                close_engine),
                cmocka_unit_test(test_folders),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
