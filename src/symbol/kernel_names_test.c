/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/kernel_id.h"
#include "symbol/kernel_names.h"

static int read_text(const char *text, struct kernel_names **ret) {
        int fd = memfd_create("kallsyms", MFD_CLOEXEC);

        assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
        lseek(fd, 0, SEEK_SET);
        return kernel_names_read(fd, ret);
}

static void test_find(void **state) {
        struct kernel_names *k = NULL;

        assert_int_equal(read_text("ffffffff81000000 T _stext\n"
                                   "ffffffff81000000 t first\n"
                                   "ffffffff81000100 D not_code\n"
                                   "no line\n"
                                   "ffffffffc0000010 t of_a_module\t[ext4]\n"
                                   "ffffffff81000200 t second\n"
                                   "ffffffff81000200 T second_for_all\n"
                                   "ffffffff81000200 T __pfx_third\n",
                                   &k),
                         0);
        assert_null(kernel_names_find(k, 0xffffffff80ffffff));
        assert_string_equal(kernel_names_find(k, KERNEL_UNSAMPLED_ADDRESS), KERNEL_UNSAMPLED_NAME);
        assert_string_equal(kernel_names_find(k, 0xffffffff81000000), "first");
        assert_string_equal(kernel_names_find(k, 0xffffffff810001ff), "first");
        assert_string_equal(kernel_names_find(k, 0xffffffff81000200), "second_for_all");
        assert_null(kernel_names_find(k, 0xffffffffb0000000)); /* far from any */
        assert_string_equal(kernel_names_find(k, 0xffffffffc0000020), "of_a_module");
        kernel_names_free(k);
}

static void test_hidden(void **state) {
        struct kernel_names *k = NULL;

        assert_int_equal(read_text("0000000000000000 T _stext\n0000000000000000 T do_exit\n", &k),
                         -EACCES);
        assert_int_equal(read_text("", &k), -EACCES);
        assert_null(k);
}

/* Names are those of one start of one machine. */
static void test_another_start(void **state) {
        struct trace_module m = {.path = KERNEL_ID_PATH};
        struct symbol_origin origin;
        struct kernel_names *k = NULL;

        assert_int_equal(kernel_names_open(&m, &k, &origin), -ESTALE);
        m.build_id_len = kernel_id_read(m.build_id);
        assert_int_equal(m.build_id_len, 16);
        m.build_id[0] ^= 1;
        assert_int_equal(kernel_names_open(&m, &k, &origin), -ESTALE);
        assert_int_equal(origin.naming, TRACE_NAMING_REPLACED);
        assert_true(strlen(origin.text) > 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_find),
                cmocka_unit_test(test_hidden),
                cmocka_unit_test(test_another_start),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
