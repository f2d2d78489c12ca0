/* SPDX-License-Identifier: MIT */
#include "fleet/server_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static int parse(struct server_rows *r, const char *text, size_t n_columns, size_t max_rows) {
        struct err err = {0};
        int result = server_rows_parse(r, text, strlen(text), n_columns, max_rows, &err);

        assert_int_equal(result < 0, err.text[0] != 0);
        return result;
}

static void cells_are_what_the_server_wrote(void **state) {
        struct server_rows r;
        struct err err = {0};
        uint64_t v;
        double d;

        assert_int_equal(parse(&r, "a\\tb\\n\\\\\\'c\t18446744073709551615\t\\N\n\t-1.5e3\t\n", 3,
                               2),
                         0);
        assert_int_equal(r.n_rows, 2);
        assert_string_equal(server_rows_text(&r, 0, 0), "a\tb\n\\'c");
        assert_int_equal(server_rows_uint(&r, 0, 1, &v, &err), 0);
        assert_true(v == UINT64_MAX);
        assert_true(server_rows_is_null(&r, 0, 2));
        assert_false(server_rows_is_null(&r, 1, 2));
        assert_string_equal(server_rows_text(&r, 1, 0), "");
        assert_int_equal(server_rows_double(&r, 1, 1, &d, &err), 0);
        assert_true(d == -1500);
        assert_true(server_rows_uint(&r, 1, 1, &v, &err) < 0);
        assert_true(server_rows_uint(&r, 1, 0, &v, &err) < 0);
        assert_true(server_rows_double(&r, 1, 2, &d, &err) < 0);
        server_rows_done(&r);
}

/* A text that is \N in the program that pushed it comes as \\N. */
static void a_text_is_not_nothing(void **state) {
        struct server_rows r;

        assert_int_equal(parse(&r, "\\\\N\n", 1, 1), 0);
        assert_false(server_rows_is_null(&r, 0, 0));
        assert_string_equal(server_rows_text(&r, 0, 0), "\\N");
        server_rows_done(&r);
}

static void what_is_not_rows_is_refused(void **state) {
        static const char *const bad[] = {"1\t2",   "1\n",     "1\t2\t3\n", "1\t\\x\n",
                                          "1\t2\\", "1\t2\n3", "\n",        "1\t2\n1\t2\n1\t2\n"};

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct server_rows r;

                assert_true(parse(&r, bad[i], 2, 2) < 0);
                server_rows_done(&r);
        }
}

static void nothing_is_no_rows(void **state) {
        struct server_rows r;

        assert_int_equal(parse(&r, "", 3, 1), 0);
        assert_int_equal(r.n_rows, 0);
        server_rows_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cells_are_what_the_server_wrote),
                cmocka_unit_test(a_text_is_not_nothing),
                cmocka_unit_test(what_is_not_rows_is_refused),
                cmocka_unit_test(nothing_is_no_rows),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
