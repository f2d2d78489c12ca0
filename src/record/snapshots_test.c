/* SPDX-License-Identifier: MIT */
/* Snapshots beside the pipeline: names, numbers, those that come by themselves; the server at which they are asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/snapshot_server.h"
#include "record/snapshots.h"

/* ---- names ------------------------------------------------------------------------------------- */

static const char *last_name(const struct snapshots *m) {
        return m->next.items[m->next.n - 1].name;
}

static int wish(struct snapshots *m, const char *name) {
        return snapshots_wish(m, name, strlen(name), 7, NULL);
}

static void test_names(void **state) {
        struct snapshots m;

        (void)state;
        snapshots_init(&m, 0, 0);
        assert_int_equal(wish(&m, "2"), 0);
        assert_int_equal(wish(&m, ""), 0);
        assert_string_equal(last_name(&m), "1");
        assert_int_equal(wish(&m, ""), 0);
        assert_string_equal(last_name(&m), "3"); /* 2 is taken */
        assert_int_equal(wish(&m, "3"), -EEXIST);
        assert_int_equal(wish(&m, "a\nb"), -EINVAL);
        assert_int_equal(snapshots_wish(&m, "a\0b", 3, 7, NULL), -EINVAL);
        assert_int_equal(m.next.n, 3);
        snapshots_begin(&m);
        assert_int_equal(m.current.n, 3);
        assert_int_equal(wish(&m, "warm"), 0); /* of the next cut */
        assert_int_equal(m.next.n, 1);
        snapshots_end(&m, 1000, 5);
        assert_int_equal(m.current.n, 0);
        assert_int_equal(wish(&m, "2"), -EEXIST);
        while (wish(&m, "") == 0)
                ;
        assert_int_equal(m.names.n, SNAPSHOT_MAX);
        assert_int_equal(wish(&m, "more"), -ENOSPC);
        snapshots_done(&m);
}

/* ---- by themselves ------------------------------------------------------------------------------- */

static bool keep_time(struct snapshots *m, uint64_t now_ns, uint64_t live_bytes) {
        bool is_last, is_due = snapshots_keep_time(m, now_ns, live_bytes, &is_last);

        if (is_due) {
                snapshots_begin(m);
                snapshots_end(m, now_ns, live_bytes);
        }
        return is_due;
}

static void test_every(void **state) {
        struct snapshots m;
        uint64_t now_ns = 0, n = 0;

        (void)state;
        snapshots_init(&m, 1000, 0);
        assert_int_equal(snapshots_due_ns(&m), 1000);
        assert_false(keep_time(&m, 999, 0));
        assert_true(keep_time(&m, 1000, 0));
        assert_int_equal(snapshots_due_ns(&m), 2000);
        assert_true(keep_time(&m, 2010, 0)); /* a little late: the next is not */
        assert_int_equal(snapshots_due_ns(&m), 3000);
        assert_true(keep_time(&m, 9000, 0)); /* the machine slept */
        assert_in_range(snapshots_due_ns(&m), 9400, 10000);
        for (now_ns = 10000; snapshots_due_ns(&m) != UINT64_MAX; now_ns = snapshots_due_ns(&m))
                n += keep_time(&m, now_ns, 0);
        assert_int_equal(n + 3, SNAPSHOTS_MAX_AUTO);
        assert_true(now_ns == UINT64_MAX && m.every_ns > 200 * 1000); /* they became rare */
        snapshots_done(&m);
}

static void test_growth(void **state) {
        struct snapshots m;
        uint64_t now_ns = 1, n = 0;

        (void)state;
        snapshots_init(&m, 0, 20);
        assert_int_equal(snapshots_due_ns(&m), UINT64_MAX);
        now_ns += SNAPSHOTS_GROWTH_MIN_NS;
        assert_false(keep_time(&m, now_ns, 1 << 20));
        assert_true(keep_time(&m, now_ns, (1 << 20) * 12 / 10 + 1));
        assert_string_equal(m.names.items[0], "auto-1");
        assert_false(keep_time(&m, now_ns + SNAPSHOTS_GROWTH_MIN_NS, (1 << 20) * 14 / 10));
        assert_true(keep_time(&m, now_ns + SNAPSHOTS_GROWTH_MIN_NS, (1 << 20) * 15 / 10));
        assert_false(
                keep_time(&m, now_ns + SNAPSHOTS_GROWTH_MIN_NS, 1ull << 40)); /* at once again */
        for (uint64_t live = 2 << 20; live < 1ull << 40; live += live / 64) {
                now_ns += SNAPSHOTS_GROWTH_MIN_NS;
                n += keep_time(&m, now_ns, live);
        }
        assert_in_range(n, 60, 73); /* log(2^19) / log(1.2) = 72 */
        snapshots_done(&m);
}

/* ---- the server ---------------------------------------------------------------------------------- */

static char folder[64];

static int make_folder(void **state) {
        (void)state;
        snprintf(folder, sizeof(folder), "/tmp/silt-test-XXXXXX");
        return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state) {
        (void)state;
        return rmdir(folder); /* nothing was left in it */
}

static int call(void) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" SNAPSHOT_SOCKET_NAME, folder);
        if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
                return fd;
        close(fd);
        return -errno;
}

static const struct snapshot_request good = {.magic = SNAPSHOT_MAGIC,
                                             .version = SNAPSHOT_VERSION,
                                             .kind = SNAPSHOT_TAKE,
                                             .name_bytes = 4,
                                             .name = "warm"};

static void test_server_answers(void **state) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC, .result = SNAPSHOT_DONE, .time_ns = 5},
                               heard;
        struct snapshot_request q;
        struct snapshot_server d;
        int fd, caller;

        (void)state;
        assert_int_equal(snapshot_server_open(&d, folder), 0);
        assert_int_equal(snapshot_server_hear(&d, &q), -1);
        fd = call();
        assert_int_equal(snapshot_server_hear(&d, &q), -1);
        assert_int_equal(d.n_silent, 1);
        assert_int_equal(send(fd, &good, sizeof(good), 0), sizeof(good));
        caller = snapshot_server_hear(&d, &q);
        assert_true(caller >= 0);
        assert_memory_equal(&q, &good, sizeof(q));
        assert_int_equal(snapshot_server_hear(&d, &q), -1); /* it is heard once */
        assert_int_equal(d.n_silent, 0);
        snapshot_server_answer(&d, caller, &a);
        assert_int_equal(recv(fd, &heard, sizeof(heard), 0), sizeof(heard));
        assert_memory_equal(&a, &heard, sizeof(a));
        assert_int_equal(recv(fd, &heard, sizeof(heard), 0), 0);
        close(fd);
        fd = call();
        assert_int_equal(send(fd, &good, sizeof(good), 0), sizeof(good));
        close(fd); /* it does not wait */
        caller = snapshot_server_hear(&d, &q);
        assert_true(caller >= 0);
        snapshot_server_answer(&d, caller, &a);
        snapshot_server_answer(&d, caller, &a);
        assert_int_equal(d.n_callers, 0);
        fd = call();
        snapshot_server_close(&d);
        assert_true(recv(fd, &heard, sizeof(heard), 0) <= 0 && errno != EAGAIN);
        close(fd);
        snapshot_server_close(&d);
        assert_true(call() < 0);
}

static void test_server_turns_away(void **state) {
        struct snapshot_request bad = good, q;
        char long_request[sizeof(good) + 1] = {0}, byte;
        struct snapshot_server d;
        int fds[6];

        (void)state;
        assert_int_equal(snapshot_server_open(&d, folder), 0);
        for (int i = 0; i < 6; i++)
                fds[i] = call();
        bad.magic++;
        send(fds[0], &bad, sizeof(bad), 0);
        bad = good, bad.version++;
        send(fds[1], &bad, sizeof(bad), 0);
        bad = good, bad.name_bytes = SNAPSHOT_NAME_BYTES + 1;
        send(fds[2], &bad, sizeof(bad), 0);
        memcpy(long_request, &good, sizeof(good));
        send(fds[3], long_request, sizeof(long_request), 0);
        send(fds[4], &good, sizeof(good) - 1, 0);
        shutdown(fds[5], SHUT_WR); /* says nothing, ever */
        assert_int_equal(snapshot_server_hear(&d, &q), -1);
        assert_int_equal(d.n_callers, 0);
        for (int i = 0; i < 6; i++) {
                assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
                close(fds[i]);
        }
        snapshot_server_close(&d);
}

static void test_server_is_full(void **state) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC};
        struct snapshot_request q;
        struct snapshot_server d;
        int fds[SNAPSHOT_SERVER_N_CALLERS + 1], n = 0;

        (void)state;
        assert_int_equal(snapshot_server_open(&d, folder), 0);
        for (int i = 0; i <= SNAPSHOT_SERVER_N_CALLERS; i++) {
                fds[i] = call();
                assert_int_equal(send(fds[i], &good, sizeof(good), 0), sizeof(good));
        }
        while (snapshot_server_hear(&d, &q) >= 0)
                n++;
        assert_int_equal(n, SNAPSHOT_SERVER_N_CALLERS); /* the last waits outside */
        assert_int_equal(d.n_callers, SNAPSHOT_SERVER_N_CALLERS);
        for (int i = 0; i < SNAPSHOT_SERVER_N_CALLERS; i++)
                snapshot_server_answer(&d, i, &a);
        assert_true(snapshot_server_hear(&d, &q) >= 0);
        for (int i = 0; i <= SNAPSHOT_SERVER_N_CALLERS; i++)
                close(fds[i]);
        snapshot_server_close(&d);
}

static void test_server_cannot_be(void **state) {
        struct snapshot_request q;
        struct snapshot_server d;

        (void)state;
        assert_int_equal(snapshot_server_open(&d, "/nonexistent"), -ENOENT);
        assert_int_equal(snapshot_server_hear(&d, &q), -1);
        snapshot_server_close(&d);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_every),
                cmocka_unit_test(test_growth),
                cmocka_unit_test_setup_teardown(test_server_answers, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_server_turns_away, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_server_is_full, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_server_cannot_be, make_folder, drop_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
