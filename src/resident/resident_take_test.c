/* SPDX-License-Identifier: MIT */
/* Against the kernel's own sums, of this process while it does nothing else. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "resident/resident_take.h"

enum { N_THREADS = 8, MB = 1 << 20, TOUCHED = 40 * 4096 };

static pthread_barrier_t barrier;

static void *thread_main(void *arg) {
        volatile char room[TOUCHED];

        (void)arg;
        for (size_t i = 0; i < sizeof(room); i += 512)
                room[i] = 1;
        pthread_barrier_wait(&barrier);
        for (;;)
                pause();
        return NULL;
}

/* A child that stands still, with something of every kind. */
static void child_main(int ready_fd) {
        char *shared = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        char *huge = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *zero = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t threads[N_THREADS];
        volatile char sum = 0;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        memset(shared, 1, MB);
        madvise(huge, 8 * MB, MADV_HUGEPAGE);
        memset(huge, 1, 8 * MB);
        for (size_t i = 0; i < MB; i += 4096)
                sum = (char)(sum + zero[i]); /* of the page that all zeroes share */
        pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
        for (size_t i = 0; i < N_THREADS; i++)
                pthread_create(&threads[i], NULL, thread_main, NULL);
        pthread_barrier_wait(&barrier);
        if (write(ready_fd, "x", 1) != 1)
                _exit(1);
        for (;;)
                pause();
}

static uint64_t rollup(pid_t pid, const char *key) {
        char path[64], text[4096];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
        assert_true(fs_read_text(path, text, sizeof(text)) > 0);
        at = strstr(text, key);
        assert_non_null(at);
        return strtoull(at + strlen(key), NULL, 10) * 1024;
}

static void test_adds_up(void **state) {
        uint64_t rss = 0, stacks = 0, shared = 0, n_tids = 0;
        struct resident r;
        struct err e = {0};
        int fds[2];
        pid_t pid;
        char c;

        (void)state;
        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0)
                child_main(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        kill(pid, SIGSTOP);
        assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
        assert_int_equal(resident_take(&r, pid, &e), 0);
        for (size_t i = 0; i < r.areas.n; i++) {
                const struct resident_area *a = &r.areas.items[i];

                rss += a->rss_bytes;
                stacks += a->kind == RESIDENT_STACK ? a->rss_bytes : 0;
                n_tids += a->kind == RESIDENT_STACK && a->tid;
                shared += a->kind == RESIDENT_SHARED ? a->rss_bytes : 0;
                assert_true(!i || a->begin >= r.areas.items[i - 1].begin +
                                                      r.areas.items[i - 1].size_bytes);
        }
        assert_int_equal(rss, r.rss_bytes);
        assert_int_equal(rss, rollup(pid, "\nRss:"));
        assert_int_equal(r.swap_bytes, rollup(pid, "\nSwap:"));
        assert_int_equal(n_tids, N_THREADS + 1);
        assert_true(stacks >= (uint64_t)N_THREADS * TOUCHED);
        assert_true(stacks <= (uint64_t)N_THREADS * (TOUCHED + 16 * 4096) + 256 * 1024);
        assert_true(shared >= MB && shared < 2 * MB);
        assert_true(r.page_table_bytes > 0);
        assert_true(r.heap.rss_bytes >= 8 * MB);
        resident_done(&r);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_int_equal(resident_take(&r, pid, &e), -ESRCH);
        close(fds[0]);
        close(fds[1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_adds_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
