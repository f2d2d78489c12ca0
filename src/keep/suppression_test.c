/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "keep/suppression.h"

static const struct suppression_place path[] = {
        {"List::add(int)", "/usr/lib/libfoo.so.1", "/src/list.cc", 12},
        {"load", "/bin/prog", "/src/load.c", 7},
        {"main", "/bin/prog", "/src/main.c", 3},
};

static const char *found(const char *text, enum leak_class class) {
        static char name[64];
        struct suppressions s = {0};
        struct suppression *one;
        struct err err = {0};

        if (suppressions_parse(&s, text, strlen(text), "x.supp", &err) < 0) {
                snprintf(name, sizeof(name), "%.63s", err.text);
                suppressions_done(&s);
                return name;
        }
        one = suppressions_find(&s, class, path, 3);
        snprintf(name, sizeof(name), "%.63s", one ? one->name : "none");
        suppressions_done(&s);
        return name;
}

static void test_valgrind(void **state) {
        (void)state;
        assert_string_equal(
                found("{\n a\n Memcheck:Leak\n fun:malloc\n fun:_ZN4List*\n ...\n fun:main\n}\n",
                      LEAK_DEFINITE),
                "a");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:_ZN4List3addEi\n}\n", LEAK_DEFINITE),
                            "a");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:malloc\n fun:load\n}\n",
                                  LEAK_DEFINITE),
                            "none");
        assert_string_equal(
                found("{\n a\n Memcheck:Leak\n match-leak-kinds: possible, reachable\n fun:*\n}\n",
                      LEAK_DEFINITE),
                "none");
        assert_string_equal(
                found("{\n a\n Memcheck:Leak\n match-leak-kinds: possible, reachable\n fun:*\n}\n",
                      LEAK_POSSIBLE),
                "a");
        assert_string_equal(
                found("# c\n\n{\n other\n Memcheck:Cond\n fun:main\n}\n{\n b\n Memcheck:Leak\n ...\n obj:*/prog\n}\n",
                      LEAK_DEFINITE),
                "b");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n ...\n src:load.c:7\n}\n", LEAK_DEFINITE),
                            "a");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n ...\n src:load.c:8\n}\n", LEAK_DEFINITE),
                            "none");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:_ZN4List3add*\n}\n", LEAK_DEFINITE),
                            "a");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:_ZN3Lis*\n}\n", LEAK_DEFINITE),
                            "none");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:*\n fun:load\n}\n", LEAK_DEFINITE),
                            "none");
        assert_string_equal(
                found("{\n a\n Memcheck:Leak\n fun:*\n fun:List::add(int)\n fun:load\n}\n",
                      LEAK_DEFINITE),
                "a");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fun:main\n", LEAK_DEFINITE),
                            "'x.supp', line 4: the last entry has no '}'");
        assert_string_equal(found("{\n a\n Memcheck:Leak\n fum:main\n}\n", LEAK_DEFINITE),
                            "'x.supp', line 4: neither 'fun:', 'obj:', 'src:' nor '...'");
}

static void test_lsan(void **state) {
        (void)state;
        assert_string_equal(found("leak:libfoo\n", LEAK_DEFINITE), "leak:libfoo");
        assert_string_equal(found("leak:libfoo\n", LEAK_REACHABLE), "none");
        assert_string_equal(found("# x\nleak:^main$\n", LEAK_INDIRECT), "leak:^main$");
        assert_string_equal(found("leak:^ain\n", LEAK_INDIRECT), "none");
        assert_string_equal(found("interceptor_via_fun:x\nleak:list.cc\n", LEAK_DEFINITE),
                            "leak:list.cc");
        assert_string_equal(found("hello\n", LEAK_DEFINITE),
                            "'x.supp', line 1: no ':': write 'leak:FUNCTION'");
}

static void test_stars(void **state) {
        (void)state;
        assert_true(suppression_matches_text("a*b?d", "axxbxbcd"));
        assert_false(suppression_matches_text("a*b?d", "axxbxbccd"));
        assert_true(suppression_matches_text("*", ""));
        assert_false(suppression_matches_text("?", ""));
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_valgrind),
                                           cmocka_unit_test(test_lsan),
                                           cmocka_unit_test(test_stars)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
