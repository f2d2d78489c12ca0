/* SPDX-License-Identifier: MIT */
/* The kernel's log, as a file: what was there before is passed over, records are taken one by one, and there is no waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "record/kernel_log.h"

static void put(int fd, const char *text) {
        assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void test_lines(void **state) {
        int fd = memfd_create("log", MFD_CLOEXEC);
        char path[64], line[KERNEL_LOG_LINE_BYTES];
        struct kernel_log l;

        (void)state;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        put(fd, "6,1,1,-;before\n");
        kernel_log_open(&l, path);
        assert_false(kernel_log_next(&l, line));
        put(fd, "6,2,2,-;one\n SUBSYSTEM=x\n6,3,3,c;t\033wo; and more\nno record\n6,4,4,-;ha");
        assert_true(kernel_log_next(&l, line));
        assert_string_equal(line, "one");
        assert_true(kernel_log_next(&l, line));
        assert_string_equal(line, "t?wo; and more");
        assert_false(kernel_log_next(&l, line)); /* not yet whole */
        put(fd, "lf\n");
        assert_true(kernel_log_next(&l, line));
        assert_string_equal(line, "half");
        assert_false(kernel_log_next(&l, line));
        kernel_log_close(&l);
        close(fd);
}

static void test_long_lines(void **state) {
        int fd = memfd_create("log", MFD_CLOEXEC);
        char path[64], line[KERNEL_LOG_LINE_BYTES];
        struct kernel_log l;

        (void)state;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        kernel_log_open(&l, path);
        put(fd, "6,1,1,-;");
        for (int i = 0; i < 20000; i++)
                put(fd, "x");
        put(fd, "\n6,2,2,-;next\n");
        do
                assert_true(kernel_log_next(&l, line));
        while (line[0] == 'x');
        assert_string_equal(line, "next");
        kernel_log_close(&l);
        close(fd);
}

static void test_no_log(void **state) {
        char line[KERNEL_LOG_LINE_BYTES];
        struct kernel_log l;

        (void)state;
        kernel_log_open(&l, "/no/such/log");
        assert_int_equal(l.fd, -1);
        assert_false(kernel_log_next(&l, line));
        kernel_log_close(&l);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_long_lines),
                cmocka_unit_test(test_no_log),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
