/* SPDX-License-Identifier: MIT */
/* What the kernel says of a kill; names of processes are their own choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/kernel_line.h"

static void test_killed(void **state) {
        struct kernel_line l;

        (void)state;
        assert_true(kernel_line_parse(
                "Memory cgroup out of memory: Killed process 12 (Killed process 9) total-vm:1kB",
                &l));
        assert_int_equal(l.kind, KERNEL_KILLED);
        assert_int_equal(l.pid, 12);
        assert_true(l.is_group);
        assert_true(kernel_line_parse("Out of memory: Killed process 7 (x) total-vm:1kB", &l));
        assert_int_equal(l.pid, 7);
        assert_false(l.is_group);
        assert_false(kernel_line_parse("audit: Out of memory: Killed process 7 (x)", &l));
        assert_false(kernel_line_parse("Out of memory: Killed process x", &l));
        assert_false(kernel_line_parse("Out of memory: Killed process 99999999999 (x)", &l));
        assert_false(kernel_line_parse("", &l));
}

static void test_reason(void **state) {
        struct kernel_line l;

        (void)state;
        assert_true(kernel_line_parse(
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=x,pid=2,uid=3,pid=41,uid=0",
                &l));
        assert_int_equal(l.kind, KERNEL_REASON);
        assert_int_equal(l.pid, 41);
        assert_true(l.is_group);
        assert_string_equal(l.full_group, "/a");
        assert_true(kernel_line_parse(
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=x,pid=5,uid=0",
                &l));
        assert_false(l.is_group);
        assert_string_equal(l.full_group, "");
        assert_false(kernel_line_parse("oom-kill:constraint=CONSTRAINT_NONE", &l));
}

static void test_note(void **state) {
        (void)state;
        assert_string_equal(kernel_line_of_note("kernel: x"), "x");
        assert_null(kernel_line_of_note("mark 1: kernel: x"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_killed),
                cmocka_unit_test(test_reason),
                cmocka_unit_test(test_note),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
