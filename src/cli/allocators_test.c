/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/allocators.h"

/* This program itself is the one with an allocator inside. */
void *mi_malloc(size_t size_bytes);

__attribute__((noinline)) void *mi_malloc(size_t size_bytes) {
        return (void *)(uintptr_t)size_bytes;
}

static void test_linked_in(void **state) {
        struct allocators a;
        struct err err = {0};

        (void)state;
        assert_non_null(mi_malloc(1));
        assert_int_equal(allocators_find("/proc/self/exe", &a, &err), 0);
        assert_non_null(a.linked_in);
        assert_string_equal(a.linked_in, "mimalloc");
        assert_true(a.has_symbol_table);
}

static void test_none(void **state) {
        struct allocators a;
        struct err err = {0};

        (void)state;
        assert_int_equal(allocators_find("/bin/sh", &a, &err), 0);
        assert_null(a.linked_in);
        assert_false(a.defines_malloc);
}

static void test_refused(void **state) {
        struct allocators a = {.linked_in = "untouched"};
        struct err err = {0};

        (void)state;
        assert_int_equal(allocators_find("/proc/self/cmdline", &a, &err), -ENOEXEC);
        assert_int_equal(allocators_find("/nonexistent/program", &a, &err), -ENOENT);
        assert_non_null(strstr(err.text, "/nonexistent/program"));
        assert_string_equal(a.linked_in, "untouched");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_linked_in),
                cmocka_unit_test(test_none),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
