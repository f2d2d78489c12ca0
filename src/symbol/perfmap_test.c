/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "symbol/perfmap.h"

/* ---- what a map says ------------------------------------------------------------------------- */

static const uint64_t asked[] = {0x1000, 0x1010, 0x2000, 0x2fff, 0x3000, 0xfffffffffffffffe};
enum { N_ASKED = ARRAY_SIZE(asked) };

static int read_map(const char *text, size_t n, struct arena *arena, const char *names[N_ASKED]) {
        _cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);

        memset(names, 0, N_ASKED * sizeof(names[0]));
        assert_int_equal(fs_write_all(fd, text, n), 0);
        lseek(fd, 0, SEEK_SET);
        return perfmap_name(fd, asked, N_ASKED, arena, names);
}

static void check_map(const char *text, const char *const expected[N_ASKED]) {
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        const char *names[N_ASKED];

        assert_int_equal(read_map(text, strlen(text), arena, names), 0);
        for (size_t i = 0; i < N_ASKED; i++) {
                if (!expected[i])
                        assert_null(names[i]);
                else
                        assert_string_equal(names[i], expected[i]);
        }
}

static void test_lines(void **state) {
        (void)state;
        check_map("1000 10 a\n2000 1000 b\n", (const char *[N_ASKED]){"a", NULL, "b", "b"});
        /* the last entry counts, and it may cover a part of another */
        check_map("1000 2000 old\n2000 10 new one\n1010 1 x\n",
                  (const char *[N_ASKED]){"old", "x", "new one", "old"});
        check_map("0x1000 0x1 prefixed\n", (const char *[N_ASKED]){"prefixed"});
        check_map("1000\t1\ttabs\n", (const char *[N_ASKED]){"tabs"});
        check_map("fffffffffffffffe 1 last\n", (const char *[N_ASKED]){[5] = "last"});
        /* an end beyond the last address does not come round to the first */
        check_map("fffffffffffffff0 1000000 wrap\n", (const char *[N_ASKED]){[5] = "wrap"});
        check_map("0 ffffffffffffffff all\n",
                  (const char *[N_ASKED]){"all", "all", "all", "all", "all", "all"});
}

static void test_what_is_no_line(void **state) {
        (void)state;
        check_map("", (const char *[N_ASKED]){0});
        check_map("\n\n \n1000\n1000 \n1000 10\n1000 10 \n", (const char *[N_ASKED]){0});
        check_map("-1000 10 a\n1000 -10 a\n+1000 10 a\nxyz 10 a\n1000 zz a\n",
                  (const char *[N_ASKED]){0});
        check_map("11111111111111111 10 a\n1000 11111111111111111 a\n", (const char *[N_ASKED]){0});
        check_map("1000 0 empty\n", (const char *[N_ASKED]){0});
        check_map("1000 10 still being written", (const char *[N_ASKED]){0});
        check_map("1000 10 a\033[2J\007b\r\n", (const char *[N_ASKED]){"a?[2J?b?"});
}

static void test_long_lines_and_zero_bytes(void **state) {
        static char text[400000];
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        const char *names[N_ASKED];
        size_t n;

        (void)state;
        n = (size_t)sprintf(text, "1000 10 ");
        memset(text + n, 'x', 300000);
        n += 300000;
        n += (size_t)sprintf(text + n, "\n2000 10 after\n");
        assert_int_equal(read_map(text, n, arena, names), 0);
        assert_int_equal(strlen(names[0]), PERFMAP_MAX_NAME);
        assert_string_equal(names[2], "after");
        n = (size_t)snprintf(text, sizeof(text), "1000 10 a%cb\n2000 10 c\n", 0);
        assert_int_equal(read_map(text, n, arena, names), 0);
        assert_string_equal(names[0], "a");
        assert_string_equal(names[2], "c");
}

/* Work and memory end before the file does. */
static void test_a_map_that_names_too_much(void **state) {
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        static char text[64 << 20];
        const char *names[N_ASKED];
        size_t n = 0;

        (void)state;
        while (n + 32 < sizeof(text))
                n += (size_t)sprintf(text + n, "0 ffffffffffffffff a\n");
        assert_int_equal(read_map(text, n, arena, names), -E2BIG);
        assert_string_equal(names[0], "a");
        assert_true(arena_size_bytes(arena) < 256 << 20);
}

/* ---- which file ------------------------------------------------------------------------------ */

/* A pid that was just used and is free now. */
static uint32_t dead_pid(void) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        assert_true(pid > 0);
        waitpid(pid, NULL, 0);
        return (uint32_t)pid;
}

static void make_map(uint32_t pid, char ret_path[64]) {
        _cleanup_close_ int fd = -1;

        snprintf(ret_path, 64, "/tmp/perf-%u.map", pid);
        unlink(ret_path);
        fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, "1000 10 a\n", 10), 0);
}

static int open_and_close(uint32_t pid, uint64_t since_unix_ns) {
        int fd = perfmap_open(pid, since_unix_ns);

        if (fd >= 0)
                close(fd);
        return fd >= 0 ? 0 : fd;
}

static void test_files(void **state) {
        uint32_t pid = dead_pid();
        uint64_t now = clock_ns(CLOCK_REALTIME);
        char path[64];

        (void)state;
        snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
        unlink(path);
        assert_int_equal(open_and_close(pid, now), -ENOENT);
        make_map(pid, path);
        assert_int_equal(open_and_close(pid, now), 0);
        /* the pid was another process's when it was written */
        assert_int_equal(open_and_close(pid, now + 60ull * 1000000000), -ESTALE);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 12345), 0);
                assert_int_equal(open_and_close(pid, now), -EPERM);
        }
        unlink(path);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        assert_int_equal(open_and_close(pid, 0), -EINVAL);
        unlink(path);
        assert_int_equal(mkfifo(path, 0644), 0);
        assert_int_equal(open_and_close(pid, 0), -EINVAL);
        unlink(path);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(open_and_close(pid, 0), -EINVAL);
        rmdir(path);
}

/* A process that lives may be older than the recording, and own its file whoever reads it. */
static void test_living_process(void **state) {
        uint64_t later = clock_ns(CLOCK_REALTIME) + 3600ull * 1000000000;
        char path[64], is_ready;
        int fds[2];
        pid_t pid;

        (void)state;
        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0) {
                if (geteuid() == 0 && setuid(12345) != 0)
                        _exit(1);
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
                (void)!write(fds[1], "x", 1);
                pause();
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(read(fds[0], &is_ready, 1), 1);
        close(fds[0]);
        close(fds[1]);
        make_map((uint32_t)pid, path);
        assert_int_equal(open_and_close((uint32_t)pid, later), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 12345), 0);
                assert_int_equal(open_and_close((uint32_t)pid, later), 0);
                assert_int_equal(chown(path, 12346, 12346), 0);
                assert_int_equal(open_and_close((uint32_t)pid, later), -EPERM);
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        unlink(path);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_what_is_no_line),
                cmocka_unit_test(test_long_lines_and_zero_bytes),
                cmocka_unit_test(test_a_map_that_names_too_much),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_living_process),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
