/* SPDX-License-Identifier: MIT */
#include "watch/trace_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/silt-folder-XXXXXX";

static void put(const char *name, size_t bytes, time_t changed) {
        struct timespec times[2] = {{.tv_sec = changed}, {.tv_sec = changed}};
        char path[256];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", place, name);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
        assert_int_equal(futimens(fd, times), 0);
        close(fd);
}

static bool has(const char *name) {
        char path[256];

        snprintf(path, sizeof(path), "%s/%s", place, name);
        return access(path, F_OK) == 0;
}

static void count_removed(void *ctx, const char *name, uint64_t bytes) {
        assert_true(strncmp(name, "silt.", 5) == 0 && bytes > 0);
        ++*(unsigned *)ctx;
}

static void test_names(void **state) {
        char path[4200];
        struct trace_folder f = {.path = "/nowhere"};

        (void)state;
        trace_folder_name(&f, "redis-server", 4711, 1000000000, path, sizeof(path));
        assert_string_equal(path, "/nowhere/silt.redis-server.4711.20010909T014640.silt");
        assert_int_equal(trace_folder_pid(strrchr(path, '/') + 1), 4711);
        trace_folder_name(&f, "../a b\n\x80", 1, 0, path, sizeof(path));
        assert_string_equal(path, "/nowhere/silt..._a_b__.1.19700101T000000.silt");
        assert_int_equal(trace_folder_pid("silt.python3.11.12.20261117T180721.silt"), 12);
        assert_int_equal(trace_folder_pid("silt.python3.11.12.20261117T180721.3.silt"), 12);
        assert_int_equal(trace_folder_pid("silt.a.4711.silt"),
                         0); /* what silt run makes is not ours */
        assert_int_equal(trace_folder_pid("silt.a.4711.20261117T180721.txt"), 0);
        assert_int_equal(trace_folder_pid("silt.4711.20261117T180721.silt"), 0);
        assert_int_equal(trace_folder_pid("silt..4711.T.silt"), 0);
        assert_int_equal(trace_folder_pid("silt"), 0);
        assert_int_equal(trace_folder_pid(""), 0);
}

static void test_tidy(void **state) {
        struct trace_folder f, second;
        unsigned n_removed = 0;
        char path[4200];
        struct err err = {0};
        int fd;

        (void)state;
        assert_int_equal(trace_folder_open(place, 10 << 20, 4 << 20, &f, &err), 0);
        assert_int_equal(trace_folder_open(place, 10 << 20, 4 << 20, &second, &err), -EBUSY);
        put("silt.a.1.20200101T000000.silt", 3 << 20, 100);
        put("silt.a.2.20200101T000000.silt", 3 << 20, 300);
        put("silt.a.3.20200101T000000.silt", 3 << 20, 200);
        put("silt.other.silt", 3 << 20, 10); /* somebody else's */
        put("notes.txt", 3 << 20, 10);
        assert_int_equal(trace_folder_tidy(&f, count_removed, &n_removed), 0);
        assert_int_equal(n_removed, 0);
        assert_int_equal(f.n_files, 3);

        /* one that is being written takes what it may become: the oldest two make room for it, but not itself */
        put("silt.b.4.20200101T000000.silt", 1 << 10, 50);
        snprintf(path, sizeof(path), "%s/silt.b.4.20200101T000000.silt", place);
        fd = open(path, O_RDWR);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(trace_folder_tidy(&f, count_removed, &n_removed), 0);
        assert_int_equal(n_removed, 1);
        assert_int_equal(f.n_removed, 1);
        assert_true(!has("silt.a.1.20200101T000000.silt") && has("silt.a.2.20200101T000000.silt") &&
                    has("silt.a.3.20200101T000000.silt") && has("silt.b.4.20200101T000000.silt"));
        f.max_bytes = 4 << 20;
        assert_int_equal(trace_folder_tidy(&f, count_removed, &n_removed), 0);
        assert_int_equal(n_removed, 3);
        assert_true(has("silt.b.4.20200101T000000.silt") && has("silt.other.silt") &&
                    has("notes.txt"));
        f.max_bytes = 1 << 20;
        assert_int_equal(trace_folder_tidy(&f, count_removed, &n_removed), 0);
        assert_true(has("silt.b.4.20200101T000000.silt"));
        assert_int_equal(f.n_written, 1);
        close(fd);

        /* a name that is taken is not given again */
        trace_folder_name(&f, "b", 4, 1577836800, path, sizeof(path));
        assert_string_equal(strrchr(path, '/') + 1, "silt.b.4.20200101T000000.2.silt");
        trace_folder_close(&f);
        assert_int_equal(trace_folder_open(place, 10 << 20, 4 << 20, &f, &err), 0);
        trace_folder_close(&f);
}

static void test_refused(void **state) {
        struct trace_folder f;
        struct err err = {0};
        char path[64];

        (void)state;
        snprintf(path, sizeof(path), "%s/notes.txt", place);
        assert_true(trace_folder_open(path, 1, 1, &f, &err) < 0);
        snprintf(path, sizeof(path), "%s/no/where", place);
        assert_true(trace_folder_open(path, 1, 1, &f, &err) < 0);
}

static int begin(void **state) {
        (void)state;
        return mkdtemp(place) ? 0 : -1;
}

static int end(void **state) {
        char command[128];

        (void)state;
        snprintf(command, sizeof(command), "rm -r '%s'", place);
        return system(command);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_tidy),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
