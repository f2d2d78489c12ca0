/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "symbol/source_path.h"

static void check_tidy(const char *path, const char *expected) {
        char text[64];

        snprintf(text, sizeof(text), "%s", path);
        source_path_tidy(text);
        assert_string_equal(text, expected);
}

static void test_tidy(void **state) {
        (void)state;
        check_tidy("/a/b.c", "/a/b.c");
        check_tidy("/a/./b//c/../d.c", "/a/b/d.c");
        check_tidy("/../../a.c", "/a.c");
        check_tidy("./libio/vtables.c", "libio/vtables.c");
        check_tidy("./libio/../iconv/skeleton.c", "iconv/skeleton.c");
        check_tidy("../../a/../b.c", "../../b.c");
        check_tidy("a/../../b.c", "../b.c");
        check_tidy("a/..", "");
        check_tidy("..a/b..", "..a/b..");
        check_tidy("/", "/");
        check_tidy("//", "/");
        check_tidy("", "");
}

static void test_directories(void **state) {
        static const char *const relative = "src/a.c", *const upward = "../src/b.c",
                                 *const inside = "./libio/vtables.c", *const absolute = "/x/c.c",
                                 *const untidy = "/x/../y/d.c";
        struct source_paths p;

        (void)state;
        source_paths_init(&p);
        assert_string_equal(source_path(&p, "/home/x", relative), "/home/x/src/a.c");
        assert_ptr_equal(source_path(&p, "/home/x", relative),
                         source_path(&p, "/home/x", relative));
        assert_string_equal(source_path(&p, "/home/build", upward), "/home/src/b.c");
        /* The directory is in front already. */
        assert_string_equal(source_path(&p, "./libio", inside), "libio/vtables.c");
        assert_ptr_equal(source_path(&p, "/home", absolute), absolute);
        assert_string_equal(source_path(&p, "/home", untidy), "/y/d.c");
        assert_string_equal(source_path(&p, NULL, "z/../e.c"), "e.c");
        assert_null(source_path(&p, "/home", NULL));
        source_paths_done(&p);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tidy),
                cmocka_unit_test(test_directories),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
