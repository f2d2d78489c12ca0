/* SPDX-License-Identifier: MIT */
/* Files as they are found: any bytes, any kind, anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/source_file.h"

static char dir[] = "/tmp/silt-file-test-XXXXXX";
static char path[256];

static int setup(void **state) {
        (void)state;
        return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
        char command[300];

        (void)state;
        snprintf(command, sizeof(command), "rm -r %s", dir);
        return system(command); /* NOLINT(cert-env33-c) */
}

static const char *in(const char *name) {
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        return path;
}

static const char *store(const char *name, const char *bytes, size_t n) {
        FILE *f = fopen(in(name), "w");

        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
        fclose(f);
        return path;
}

static const struct trace_meta later = {.started_unix_ns = UINT64_MAX, .cwd = ""};

static void load(struct file *f, const char *recorded) {
        struct source_options o = SOURCE_OPTIONS_DEFAULT;

        file_load(f, recorded, "", &o, &later);
}

static void expect_line(const struct file *f, uint32_t line, const char *expected) {
        size_t n;
        const char *text = file_line(f, line, &n);

        assert_int_equal(n, strlen(expected));
        assert_memory_equal(text, expected, n);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void test_lines(void **state) {
        struct file f;

        (void)state;
        load(&f, store("a.c", "one\n\ntwo\r\nlast", 14));
        assert_int_equal(f.state, FILE_READ);
        assert_int_equal(f.n_lines, 4);
        expect_line(&f, 1, "one");
        expect_line(&f, 2, "");
        expect_line(&f, 3, "two");
        expect_line(&f, 4, "last");
        expect_line(&f, 5, "");
        expect_line(&f, 0, "");
        expect_line(&f, UINT32_MAX, "");
        file_done(&f);
        load(&f, store("empty.c", "", 0));
        assert_int_equal(f.state, FILE_READ);
        assert_int_equal(f.n_lines, 0);
        expect_line(&f, 1, "");
        file_done(&f);
        load(&f, store("end.c", "one\n", 4));
        assert_int_equal(f.n_lines, 1);
        file_done(&f);
}

static void expect_refused(const char *recorded, enum file_state state, const char *why) {
        struct file f;

        load(&f, recorded);
        assert_int_equal(f.state, state);
        if (why)
                assert_string_equal(f.why, why);
        assert_null(f.text);
        assert_int_equal(f.n_lines, 0);
        file_done(&f);
}

static void test_no_text(void **state) {
        (void)state;
        expect_refused(store("binary", "\177ELF\0\1", 6), FILE_UNREADABLE, "is not text");
        store("huge.c", "x", 1);
        assert_int_equal(truncate(path, (off_t)FILE_MAX_BYTES + 1), 0);
        expect_refused(path, FILE_UNREADABLE, "is larger than 32 MiB");
        expect_refused(in("nothing.c"), FILE_MISSING, NULL);
        expect_refused(dir, FILE_UNREADABLE, "is a directory");
        assert_int_equal(mkfifo(in("fifo.c"), 0600), 0);
        expect_refused(path, FILE_UNREADABLE, "is a pipe"); /* and did not wait for a writer */
        assert_int_equal(symlink("loop.c", in("loop.c")), 0);
        expect_refused(path, FILE_UNREADABLE, "cannot be read: Too many levels of symbolic links");
        assert_int_equal(symlink("/dev/zero", in("device.c")), 0);
        expect_refused(path, FILE_UNREADABLE, "is a device");
        expect_refused("", FILE_MISSING, NULL);
}

static void test_many_lines(void **state) {
        struct file f;
        size_t n = FILE_MAX_LINES + 10;
        char *text = malloc(n);

        (void)state;
        memset(text, '\n', n);
        expect_refused(store("many.c", text, n), FILE_UNREADABLE, "has more than 4,194,304 lines");
        load(&f, store("fewer.c", text, FILE_MAX_LINES - 1));
        assert_int_equal(f.n_lines, FILE_MAX_LINES - 1);
        file_done(&f);
        free(text);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void expect_normal(const char *from, const char *to) {
        struct str s = {0};

        str_add(&s, "x=");
        file_add_normal(&s, from);
        assert_string_equal(str_text(&s) + 2, to);
        str_done(&s);
}

static void test_normal(void **state) {
        (void)state;
        expect_normal("/a/b.c", "/a/b.c");
        expect_normal("/a/./x/../b.c", "/a/b.c");
        expect_normal("/a//b///c", "/a/b/c");
        expect_normal("/../../a", "/a");
        expect_normal("../a/../b", "../b");
        expect_normal("../../b", "../../b");
        expect_normal("a/..", "");
        expect_normal("a/../../b", "../b");
        expect_normal("", "");
        expect_normal("/", "/");
}

static void expect_found(const struct source_options *o, const char *recorded, const char *cwd,
                         const char *expected) {
        struct trace_meta meta = {.started_unix_ns = UINT64_MAX, .cwd = cwd};
        struct file f;

        file_load(&f, recorded, "", o, &meta);
        assert_int_equal(f.state, expected ? FILE_READ : FILE_MISSING);
        assert_string_equal(f.path, expected ? in(expected) : recorded);
        file_done(&f);
}

static void test_places(void **state) {
        struct source_options o = SOURCE_OPTIONS_DEFAULT;
        char here[sizeof(dir)], sub[sizeof(dir) + 8];

        (void)state;
        snprintf(here, sizeof(here), "%s", dir);
        snprintf(sub, sizeof(sub), "%s/sub", dir);
        assert_int_equal(mkdir(sub, 0700), 0);
        store("sub/p.c", "p", 1);
        expect_found(&o, "/build/x/sub/p.c", "", NULL);
        expect_found(&o, "sub/p.c", here, "sub/p.c");
        o.dirs[o.n_dirs++] = here;
        expect_found(&o, "/build/x/sub/p.c", "", "sub/p.c"); /* the longest end that is there */
        expect_found(&o, "/build/p.c", "", NULL);
        o.dirs[0] = sub;
        expect_found(&o, "/build/p.c", "", "sub/p.c");
        o.n_dirs = 0;
        o.maps[o.n_maps++] = (struct source_map){"/build/x", 8, here};
        expect_found(&o, "/build/x/sub/p.c", "", "sub/p.c");
        expect_found(&o, "/build/xy/sub/p.c", "", NULL); /* OLD is no part of a name */
        snprintf(sub, sizeof(sub), "%s/y", dir);
        assert_int_equal(mkdir(sub, 0700), 0);
        store("y/p.c", "p", 1);
        expect_found(&o, "/build/xy/p.c", "", NULL); /* nor of another */
        o.maps[o.n_maps++] = (struct source_map){"/build", 6, "/nowhere"};
        expect_found(&o, "/build/x/sub/p.c", "",
                     "sub/p.c"); /* where nothing is, the next is tried */
}

static void test_changed(void **state) {
        struct source_options o = SOURCE_OPTIONS_DEFAULT;
        struct timespec at[2] = {{1000, 0}, {1000, 0}};
        struct trace_meta meta = {.started_unix_ns = 2000000000000, .cwd = ""};
        char module[256], source[256];
        struct file f;

        (void)state;
        snprintf(module, sizeof(module), "%s", store("program", "x", 1));
        snprintf(source, sizeof(source), "%s", store("source.c", "x", 1));
        assert_int_equal(utimensat(AT_FDCWD, source, at, 0), 0);
        file_load(&f, source, "", &o, &meta);
        assert_false(f.is_changed);
        file_done(&f);
        at[1].tv_sec = 2001; /* after the recording began */
        assert_int_equal(utimensat(AT_FDCWD, source, at, 0), 0);
        file_load(&f, source, "", &o, &meta);
        assert_true(f.is_changed);
        file_done(&f);
        at[1].tv_sec = 1500;
        assert_int_equal(utimensat(AT_FDCWD, source, at, 0), 0);
        at[1].tv_sec = 1400; /* after the program was built */
        assert_int_equal(utimensat(AT_FDCWD, module, at, 0), 0);
        file_load(&f, source, module, &o, &meta);
        assert_true(f.is_changed);
        file_done(&f);
        at[1].tv_sec = 1600;
        assert_int_equal(utimensat(AT_FDCWD, module, at, 0), 0);
        file_load(&f, source, module, &o, &meta);
        assert_false(f.is_changed);
        file_done(&f);
        at[1].tv_sec = 3000; /* built anew since: says nothing */
        assert_int_equal(utimensat(AT_FDCWD, module, at, 0), 0);
        file_load(&f, source, module, &o, &meta);
        assert_false(f.is_changed);
        file_done(&f);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void expect_shown(const char *text, size_t skip, size_t width, const char *expected,
                         bool fits) {
        struct str s = {0};

        assert_int_equal(file_add_shown(&s, text, strlen(text), skip, width) == strlen(text), fits);
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
}

static void test_shown(void **state) {
        struct str s = {0};
        char marks[8001] = "e";

        (void)state;
        expect_shown("abc", 0, 3, "abc", true);
        expect_shown("abcd", 0, 3, "abc", false);
        expect_shown("\ta\tb", 0, 80, "        a       b", true);
        expect_shown("\tab", 4, 80, "    ab", true);
        expect_shown("\t\tab", 8, 80, "        ab", true);
        expect_shown("\033[31mred\x07", 0, 80, "\\x1b[31mred\\x07", true);
        expect_shown("\xff\xc0\x80z", 0, 80, "\\xff\\xc0\\x80z", true);
        expect_shown("\xc2\x9b"
                     "0m",
                     0, 80, "\\u{9b}0m", true);
        expect_shown("a\xe2\x80\xae"
                     "b",
                     0, 80, "a\\u{202e}b", true); /* turns text around */
        expect_shown("日本語", 0, 6, "日本語", true);
        expect_shown("日本語", 0, 5, "日本", false);
        expect_shown("e\xcc\x81x", 0, 2, "e\xcc\x81x", true);
        for (size_t i = 1; i < 7999; i += 2)
                marks[i] = '\xcc', marks[i + 1] = '\x81';
        assert_true(file_add_shown(&s, marks, strlen(marks), 0, 10) < 400);
        assert_true(s.n < 400); /* what has no width has an end */
        str_done(&s);
        assert_int_equal(file_indent("  x", 3), 2);
        assert_int_equal(file_indent(" \tx", 3), 8);
        assert_true(file_indent(" \t", 2) == SIZE_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),      cmocka_unit_test(test_no_text),
                cmocka_unit_test(test_many_lines), cmocka_unit_test(test_normal),
                cmocka_unit_test(test_places),     cmocka_unit_test(test_changed),
                cmocka_unit_test(test_shown),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
