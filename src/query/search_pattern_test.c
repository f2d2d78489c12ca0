/* SPDX-License-Identifier: MIT */
#include "query/search_pattern.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
// clang-format off: cmocka.h needs those above
#include <cmocka.h>
// clang-format on

static struct pattern *pattern_of(const char *text) {
        struct pattern *p = NULL;
        struct err e = {0};

        assert_int_equal(pattern_new(text, &p, &e), 0);
        return p;
}

static bool finds(const char *pattern, const char *text) {
        _cleanup_(pattern_freep) struct pattern *p = pattern_of(pattern);
        bool found = pattern_matches(p, text);

        assert_int_equal(pattern_check(p, NULL), 0);
        return found;
}

static void test_finds(void **state) {
        assert_true(finds("Cache", "app::Cache::insert(int)"));
        assert_false(finds("^Cache", "app::Cache::insert(int)"));
        assert_true(finds("insert\\(int\\)$", "app::Cache::insert(int)"));
        assert_true(finds("(?i)CACHE", "app::Cache"));
        assert_true(finds("^a.b$", "a\nb"));      /* a name may hold anything */
        assert_true(finds("\\xff$", "name\xff")); /* bytes, not characters */
        assert_true(finds("", "x"));
}

static void test_refuses_in_one_line(void **state) {
        static const char *const bad[] = {"(", "[a", "a{2,1}", "*a", "(?<n", "\\C"};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                struct pattern *p = NULL;
                struct err e = {0};

                assert_int_equal(pattern_new(bad[i], &p, &e), -EINVAL);
                assert_null(p);
                assert_non_null(strstr(e.text, bad[i]));
                assert_null(strchr(e.text, '\n'));
        }
}

static void test_large_patterns_are_refused(void **state) {
        struct pattern *p = NULL;
        struct err e = {0};
        char text[5000];

        memset(text, 'a', sizeof(text) - 1);
        text[sizeof(text) - 1] = 0;
        assert_int_equal(pattern_new(text, &p, &e), -EINVAL);
        assert_true(pattern_new("(((((a{1,999}){1,999}){1,999})))", &p, &e) < 0);
        memset(text, '(', 200);
        memset(text + 200, ')', 200);
        text[400] = 0;
        assert_int_equal(pattern_new(text, &p, &e), -EINVAL);
        assert_null(p);
}

/* Every way of cutting a row of a's is tried by a search that goes back: it gives up and says so. */
static void test_a_slow_search_is_told(void **state) {
        _cleanup_(pattern_freep) struct pattern *p = pattern_of("^(a|aa)+$");
        clock_t begin = clock();
        struct err e = {0};
        char text[400];

        memset(text, 'a', sizeof(text) - 2);
        strcpy(text + sizeof(text) - 2, "b");
        assert_true(pattern_matches(p, "aaa"));
        assert_int_equal(pattern_check(p, &e), 0);
        assert_false(pattern_matches(p, text));
        assert_int_equal(pattern_check(p, &e), -E2BIG);
        assert_non_null(strstr(e.text, "too long"));
        assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_finds),
                cmocka_unit_test(test_refuses_in_one_line),
                cmocka_unit_test(test_large_patterns_are_refused),
                cmocka_unit_test(test_a_slow_search_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
