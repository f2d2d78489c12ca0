/* SPDX-License-Identifier: MIT */
#include "import/import_sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_PATHS = 8 };

static void check(const char *given, const char *taken) {
        char text[256], joined[256] = "", *rest = text, *word;
        const char *paths[MAX_PATHS];
        size_t n = 0;

        strcpy(text, given);
        while ((word = strsep(&rest, " ")))
                paths[n++] = word;
        assert_int_equal(import_sequence_sort(paths, n), strcmp(given, taken) != 0);
        for (size_t i = 0; i < n; i++) {
                strcat(joined, i ? " " : "");
                strcat(joined, paths[i]);
        }
        assert_string_equal(joined, taken);
}

static void test_numbers_are_sorted(void **ctx) {
        (void)ctx;
        check("a.1 a.10 a.2", "a.1 a.2 a.10");
        check("x/j.7.0.i0.h x/j.7.1.u0.h x/j.7.10.f.h x/j.7.2.m1.h",
              "x/j.7.0.i0.h x/j.7.1.u0.h x/j.7.2.m1.h x/j.7.10.f.h");
        check("hp.0001.heap hp.0002.heap hp.0010.heap", "hp.0001.heap hp.0002.heap hp.0010.heap");
        check("q9 q18446744073709551617 q18446744073709551616",
              "q9 q18446744073709551616 q18446744073709551617");
        check("run10/a run9/a", "run9/a run10/a");
        check("a.19 a.1 a.12", "a.1 a.12 a.19");
}

static void test_words_stay(void **ctx) {
        (void)ctx;
        check("before after", "before after");
        check("b.2 a.1", "b.2 a.1");
        check("a.2 a.1 b.3", "a.2 a.1 b.3");
        check("a.02 a.2 a.1", "a.02 a.2 a.1");
        check("a.2 a.1 a", "a.2 a.1 a");
        check("a.2 a.2 a.1", "a.2 a.2 a.1");
        check("a", "a");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers_are_sorted),
                cmocka_unit_test(test_words_stay),
        };

        return cmocka_run_group_tests_name("import/sequence", tests, NULL, NULL);
}
