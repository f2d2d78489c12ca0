/* SPDX-License-Identifier: MIT */
/* A child with a layout that is known: small blocks that outlive the large ones between them. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/unrecorded_bill.h"

enum { N_LINES = 2000, LINE_BYTES = 104, LARGE_BYTES = 3900 };

static void child_main(int ready_fd) {
        static char *lines[N_LINES], *large[N_LINES];
        sigset_t trim;
        int sig;

        sigemptyset(&trim);
        sigaddset(&trim, SIGUSR1);
        sigprocmask(SIG_BLOCK, &trim, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < N_LINES; i++) {
                lines[i] = malloc(LINE_BYTES);
                large[i] = malloc(LARGE_BYTES);
                memset(lines[i], 1, LINE_BYTES);
                memset(large[i], 1, LARGE_BYTES);
        }
        for (int i = 0; i < N_LINES; i++)
                free(large[i]);
        if (write(ready_fd, lines[N_LINES - 1], 1) != 1)
                _exit(1);
        for (;;) {
                sigwait(&trim, &sig);
                malloc_trim(0);
                if (write(ready_fd, "t", 1) != 1)
                        _exit(1);
        }
}

static uint64_t sum_of(const struct resident *r, const char *part, bool is_releasable) {
        uint64_t sum = 0;

        for (size_t i = 0; i < r->frees.n; i++)
                if (strstr(resident_name(r, r->frees.items[i].name), part))
                        sum += is_releasable ? r->frees.items[i].releasable_bytes
                                             : r->frees.items[i].bytes;
        return sum;
}

/* What the rows say that a trim gives back is what it does give back. */
static void check_trim(pid_t pid, int ready_fd, const struct resident *before) {
        struct err why = {0}, e = {0};
        struct resident after;
        char c;

        assert_true(sum_of(before, "", true) > 0);
        kill(pid, SIGUSR1);
        assert_int_equal(read(ready_fd, &c, 1), 1);
        assert_int_equal(unrecorded_bill_take(pid, &after, &why, &e), 0);
        assert_int_equal(before->heap.rss_bytes - after.heap.rss_bytes, sum_of(before, "", true));
        assert_int_equal(sum_of(&after, "", true), 0);
        resident_done(&after);
}

static void test_pinned(void **state) {
        const struct resident_heap *h;
        struct err why = {0}, e = {0};
        struct resident r;
        int fds[2];
        pid_t pid;
        char c;

        (void)state;
        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0)
                child_main(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        assert_int_equal(unrecorded_bill_take(pid, &r, &why, &e), 0);
        h = &r.heap;
        if (r.has_blocks) { /* where silt may copy it, and its malloc is glibc's */
                assert_true(h->n_blocks >= N_LINES);
                assert_int_equal(h->rss_bytes, h->resident_asked_bytes + h->rounding_bytes +
                                                       h->header_bytes + h->between_bytes +
                                                       h->empty_bytes);
                assert_true(h->between_bytes + h->empty_bytes >=
                            (uint64_t)N_LINES * (LARGE_BYTES - 100));
                assert_true(r.pins.n > 0 && r.pins.items[0].n_pages >= N_LINES * 9 / 10);
                check_trim(pid, fds[0], &r);
        } else {
                assert_true(why.text[0]);
        }
        resident_done(&r);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_true(unrecorded_bill_take(pid, &r, &why, &e) < 0);
        close(fds[0]);
        close(fds[1]);
}

/* ---- what its allocator says of itself ----------------------------------------------------------- */

enum { N_MIXED = 3000, N_SMALL = 20000, SMALL_BYTES = 40, TRIM = 't' };

struct child {
        pid_t pid;
        int from, to;
};

/* Blocks of all sizes; every other one is freed, the small ones into the thread's cache first. Then small ones side by side, all of which are freed: most go
 * to fast bins, and are pages only once they are joined. */
static void mix(void) {
        static __thread char *blocks[N_MIXED];
        static __thread char *small[N_SMALL];

        for (int i = 0; i < N_MIXED; i++) {
                size_t n = (size_t)i * 37 % 500 + (i % 50 ? 24 : 20000);

                blocks[i] = malloc(n);
                memset(blocks[i], 1, n);
        }
        for (int i = 0; i < N_SMALL; i++) {
                small[i] = malloc(SMALL_BYTES);
                memset(small[i], 1, SMALL_BYTES);
        }
        for (int i = 0; i < N_MIXED; i += 2)
                free(blocks[i]);
        for (int i = 0; i < N_SMALL; i++)
                free(small[i]);
}

static void *thread_main(void *arg) {
        mix();
        pthread_barrier_wait(arg);
        for (;;)
                pause();
        return NULL;
}

static void books_main(int in, int out) {
        pthread_barrier_t barrier;
        struct mallinfo2 info;
        pthread_t thread;
        char c;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&thread, NULL, thread_main, &barrier);
        mix();
        pthread_barrier_wait(&barrier);
        for (;;) {
                info = mallinfo2();
                if (write(out, &info, sizeof(info)) != sizeof(info) || read(in, &c, 1) != 1)
                        _exit(1);
                malloc_trim(0);
        }
}

static struct child start_books(void) {
        int a[2], b[2];
        struct child c;

        assert_int_equal(pipe(a), 0);
        assert_int_equal(pipe(b), 0);
        c = (struct child){fork(), a[0], b[1]};
        if (c.pid == 0)
                books_main(b[0], a[1]);
        close(a[1]);
        close(b[0]);
        return c;
}

/* To the byte what mallinfo2 says, and what malloc_trim gives back. */
static void test_books(void **state) {
        struct child c = start_books();
        struct err why = {0}, e = {0};
        struct mallinfo2 info;
        struct resident r;
        uint64_t rss_bytes;
        char trim = TRIM;

        (void)state;
        assert_int_equal(read(c.from, &info, sizeof(info)), sizeof(info));
        assert_int_equal(unrecorded_bill_take(c.pid, &r, &why, &e), 0);
        if (r.has_blocks) {
                assert_int_equal(r.allocators.n, 1);
                assert_int_equal(r.allocators.items[0].n_frees, r.frees.n);
                assert_int_equal(sum_of(&r, "fast bins", false), info.fsmblks);
                assert_int_equal(sum_of(&r, "arena ", false), info.fordblks);
                assert_int_equal(sum_of(&r, "arena 0: top", false), info.keepcost);
                assert_int_equal(sum_of(&r, "free, unlisted", false), 0);
                assert_true(sum_of(&r, "arena 1: bins", false) > 0);
                assert_true(sum_of(&r, "thread cache 1", false) > 0);
                assert_true(sum_of(&r, "thread cache 2", false) > 0);
                assert_true(sum_of(&r, "fast bins", true) > N_SMALL * SMALL_BYTES);
                assert_true(sum_of(&r, "", true) <= r.heap.between_bytes + r.heap.empty_bytes);
                rss_bytes = r.heap.rss_bytes - sum_of(&r, "", true);
                resident_done(&r);
                assert_int_equal(write(c.to, &trim, 1), 1);
                assert_int_equal(read(c.from, &info, sizeof(info)), sizeof(info));
                assert_int_equal(unrecorded_bill_take(c.pid, &r, &why, &e), 0);
                assert_int_equal(r.heap.rss_bytes, rss_bytes);
                assert_int_equal(sum_of(&r, "", true), 0);
                assert_int_equal(sum_of(&r, "arena ", false), info.fordblks);
        }
        resident_done(&r);
        kill(c.pid, SIGKILL);
        waitpid(c.pid, NULL, 0);
        close(c.from);
        close(c.to);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pinned),
                cmocka_unit_test(test_books),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
