/* SPDX-License-Identifier: MIT */
/* libsilt.so inside programs, seen by a recorder that only counts.
 *   runtime_test LIBSILT TARGET PLUGIN */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/testing/fake_recorder.h"

static char *runtime_path, *target_path, *plugin_path;

static void run(struct fake_recorder *r, const struct fake_options *options, char *what) {
        char *argv[] = {target_path, what, plugin_path, NULL};
        int status;

        fake_recorder_open(r, options);
        status = fake_recorder_run(r, runtime_path, argv);
        fake_recorder_close(r);
        assert_int_equal(status, 0);
        assert_int_equal(r->n_broken, 0);
}

static void run_tally(char *what, struct fake_tally *ret_tally) {
        const struct fake_options options = {.frees_slots = true};
        struct fake_recorder r;

        run(&r, &options, what);
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        fake_recorder_tally(&r, 0, ret_tally);
        fake_recorder_done(&r);
}

static double seconds(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 13 blocks, one of them by moving another with realloc; the one whose realloc failed is left. */
static void test_every_form_counts_once(void **state) {
        struct fake_tally t;

        run_tally((char *)"family", &t);
        assert_int_equal(t.allocations, 13);
        assert_int_equal(t.frees, 12);
        assert_int_equal(t.reallocations, 1);
        assert_int_equal(t.failed, 4);
        assert_int_equal(t.unknown_frees, 0);
        assert_int_equal(t.bytes, 10 + 21 + 20 + 30 + 40 + 40 + 64 + 50 + 60 + 70 + 5 + 100 + 9);
        assert_int_equal(t.live_bytes, 100);
        assert_int_equal(t.complete, t.n_stacks);
}

static void test_threads(void **state) {
        const struct fake_options options = {.frees_slots = true};
        struct fake_recorder r;
        struct fake_tally t;
        uint64_t n_blocks = 0; /* pthread_create allocates too */

        run(&r, &options, (char *)"threads");
        fake_recorder_tally(&r, 0, &t);
        for (size_t i = 0; i < r.n_events; i++)
                n_blocks += r.events[i].kind == WIRE_ALLOC && r.events[i].word[1] == 16;
        assert_int_equal(n_blocks, 8000);
        assert_int_equal(t.unknown_frees, 0);
        assert_int_equal(atomic_load(&fake_recorder_process(&r, 0)->n_threads_started), 8);
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        fake_recorder_done(&r);
}

/* What the runtime keeps per thread is used again: 2,000 threads one after the other need a few. */
static void test_thread_states_are_reused(void **state) {
        const struct fake_options options = {.frees_slots = true, .discards = true};
        struct fake_recorder r;

        run(&r, &options, (char *)"short_threads");
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        assert_in_range(atomic_load(&fake_recorder_process(&r, 0)->runtime_bytes), 1, 32 << 20);
        assert_in_range(atomic_load(&r.header->n_slots_used), 1, 400);
        fake_recorder_done(&r);
}

/* fork has an exact time, a raw clone the time of the parent's last event; both children know
 * what they inherited. */
static void test_fork_and_raw_clone(void **state) {
        const struct fake_options options = {0};
        struct fake_recorder r;

        run(&r, &options, (char *)"fork");
        assert_int_equal(fake_recorder_n_processes(&r), 3);
        for (uint32_t i = 1; i < 3; i++) {
                struct wire_process *p = fake_recorder_process(&r, i);
                struct fake_tally t;

                fake_recorder_tally(&r, i, &t);
                assert_int_equal(p->parent_idx, 0);
                assert_int_equal(p->flags, i == 1 ? WIRE_PROCESS_FORK_EXACT : 0);
                assert_int_equal(t.allocations, 1);
                assert_int_equal(t.frees, 1);
                assert_int_equal(t.unknown_frees, 0);
                assert_int_equal(t.live_bytes, 10 + i);
        }
        fake_recorder_done(&r);
}

/* ---- signals ----------------------------------------------------------------------------- */

enum { SAY_FD = 30 };

/* Runs `what` with a pipe as descriptor SAY_FD, on which the program says a number. */
static int run_and_listen(struct fake_recorder *r, char *what) {
        const struct fake_options options = {.n_lent_max = 32};
        char text[32] = {0};
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_int_equal(dup2(fds[1], SAY_FD), SAY_FD);
        close(fds[1]);
        run(r, &options, what);
        close(SAY_FD);
        assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
        close(fds[0]);
        return atoi(text);
}

static uint64_t count_mapped(const struct fake_recorder *r, uint64_t size_bytes) {
        uint64_t n = 0;

        for (size_t i = 0; i < r->n_events; i++)
                n += r->events[i].kind == WIRE_MMAP && r->events[i].word[1] == size_bytes;
        return n;
}

/* No event of a handler is lost, whatever it interrupts; where rings are tiny, losses are counted. */
static void check_handled(const struct fake_recorder *r, uint64_t n_handled) {
        uint64_t n_mapped = count_mapped(r, 4096), n_lost = fake_recorder_n_lost(r);

        if (!SILT_TINY)
                assert_int_equal(n_lost, 0);
        assert_in_range(n_mapped, n_handled - (n_lost < n_handled ? n_lost : n_handled), n_handled);
}

static void test_signals_inside_the_runtime(void **state) {
        struct fake_recorder r;
        int n_handled = run_and_listen(&r, (char *)"signals");
        struct fake_tally t;

        assert_in_range(n_handled, 500, 1000000);
        check_handled(&r, (uint64_t)n_handled);
        fake_recorder_tally(&r, 0, &t);
        assert_in_range(t.nested, 1, 2 * (uint64_t)n_handled);
        fake_recorder_done(&r);
}

/* A handler that leaves by siglongjmp may leave the runtime's own steps unfinished; what comes
 * after is still written, and by the first lane. */
static void test_handlers_that_never_return(void **state) {
        struct fake_recorder r;
        int n_handled = run_and_listen(&r, (char *)"abandon");
        struct fake_tally t;
        bool any_nested = false;

        check_handled(&r, (uint64_t)n_handled);
        fake_recorder_tally(&r, 0, &t);
        assert_int_equal(t.allocations, t.frees);
        for (size_t i = 0; i < r.n_events; i++)
                any_nested |= r.events[i].kind == WIRE_ALLOC && r.events[i].is_nested;
        assert_false(any_nested);
        for (uint32_t i = 0; i < atomic_load(&r.header->n_slots_used); i++)
                assert_int_equal(atomic_load(&((struct wire_slot *)((char *)r.header +
                                                                    r.header->slot_off) +
                                               i)
                                                      ->busy),
                                 0);
        fake_recorder_done(&r);
}

/* ---- a recorder that is slow, stuck or gone ---------------------------------------------- */

static void test_small_ring_loses_nothing(void **state) {
        const struct fake_options options = {.n_lent_max = 1, .lends_late = true};
        struct fake_recorder r;
        struct fake_tally t;

        run(&r, &options, (char *)"loop");
        fake_recorder_tally(&r, 0, &t);
        assert_int_equal(t.allocations, 20000);
        assert_int_equal(t.frees, 20000);
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        fake_recorder_done(&r);
}

/* 5 s of patience in all, then the program runs on and every loss is counted. */
static void test_stuck_recorder(void **state) {
        const struct fake_options options = {.is_stuck = true};
        struct fake_recorder r;
        double begin = seconds();

        run(&r, &options, (char *)"loop");
        assert_true(seconds() - begin > 4 && seconds() - begin < 8);
        assert_in_range(fake_recorder_n_lost(&r), 30000, 40000);
        assert_in_range(r.n_records + fake_recorder_n_lost(&r), 40000, 40010);
        fake_recorder_done(&r);
}

/* Eight threads that wait for the same second have waited for one. */
static void test_waits_that_overlap_are_one(void **state) {
        const struct fake_options options = {.is_stuck = true};
        struct fake_recorder r;
        double begin = seconds();

        run(&r, &options, (char *)"threads");
        assert_true(seconds() - begin > 4 && seconds() - begin < 8);
        assert_true(fake_recorder_n_lost(&r) > 0);
        fake_recorder_done(&r);
}

static void test_lossy_never_waits(void **state) {
        const struct fake_options options = {.is_stuck = true, .flags = WIRE_LOSSY};
        struct fake_recorder r;
        double begin = seconds();

        run(&r, &options, (char *)"loop");
        assert_true(seconds() - begin < 2);
        assert_in_range(fake_recorder_n_lost(&r), 30000, 40000);
        fake_recorder_done(&r);
}

/* Once there is room again, a LOST record says how many are missing, and stacks are whole. */
static void test_recording_resumes_after_loss(void **state) {
        const struct fake_options options = {.is_stuck = true,
                                             .recovers = true,
                                             .flags = WIRE_LOSSY,
                                             .n_lent_max = 64};
        struct fake_recorder r;
        struct fake_tally t;
        uint64_t n_lost;

        run(&r, &options, (char *)"long_loop");
        n_lost = fake_recorder_n_lost(&r);
        fake_recorder_tally(&r, 0, &t);
        assert_in_range(n_lost, 1, 3999999);
        assert_in_range(t.n_kind[WIRE_LOST], 1, n_lost);
        assert_in_range(t.lost_told, 1, n_lost);
        assert_int_equal(t.n_kind[WIRE_ALLOC] + t.n_kind[WIRE_FREE] + n_lost, 4000000);
        assert_int_equal(t.complete, t.n_stacks);
        fake_recorder_done(&r);
}

static void *end_recording(void *ctx) {
        struct fake_recorder *r = ctx;

        fake_recorder_await_waiter(r);
        fake_recorder_stop(r);
        return NULL;
}

static void test_end_of_recording_releases_waiters(void **state) {
        const struct fake_options options = {.is_stuck = true};
        char *argv[] = {target_path, (char *)"loop", NULL};
        struct fake_recorder r;
        double begin = seconds();
        pthread_t thread;

        fake_recorder_open(&r, &options);
        pthread_create(&thread, NULL, end_recording, &r);
        assert_int_equal(fake_recorder_run(&r, runtime_path, argv), 0);
        pthread_join(thread, NULL);
        assert_true(seconds() - begin < 3);
        fake_recorder_close(&r);
        fake_recorder_done(&r);
}

static void test_no_recorder(void **state) {
        const struct fake_options options = {0};
        char *argv[] = {target_path, (char *)"family", NULL};
        struct fake_recorder r;

        fake_recorder_open(&r, &options);
        fake_recorder_close(&r);
        strcpy(r.env, "silt-nobody;/nonexistent/silt:000102030405060708090a0b0c0d0e0f");
        assert_int_equal(fake_recorder_run(&r, runtime_path, argv), 0);
        strcpy(r.env, "garbage");
        assert_int_equal(fake_recorder_run(&r, runtime_path, argv), 0);
        fake_recorder_done(&r);
}

/* ---- images, plugins, mappings ----------------------------------------------------------- */

static void test_exec_with_an_empty_environment(void **state) {
        const struct fake_options options = {0};
        struct fake_recorder r;
        struct fake_tally t;

        run(&r, &options, (char *)"exec");
        assert_int_equal(r.n_hellos, 2);
        fake_recorder_tally(&r, 0, &t);
        assert_int_equal(t.n_kind[WIRE_EXEC], 1);
        fake_recorder_tally(&r, 1, &t);
        assert_int_equal(t.allocations, 13);
        fake_recorder_done(&r);
}

static void test_plugin_with_its_own_cxx_library(void **state) {
        struct fake_tally t;

        run_tally((char *)"plugin", &t);
        assert_int_equal(t.n_form[WIRE_FORM_NEW], 10);
        assert_int_equal(t.n_form[WIRE_FORM_NEW_ARRAY], 10);
        assert_int_equal(t.unknown_frees, 0);
        assert_int_equal(t.double_allocations, 0);
        assert_int_equal(t.size_mismatches, 0);
}

static void test_mappings(void **state) {
        struct fake_tally t;

        run_tally((char *)"mappings", &t);
        assert_int_equal(t.n_kind[WIRE_MMAP], 1);
        assert_int_equal(t.n_kind[WIRE_MREMAP], 1);
        assert_int_equal(t.n_kind[WIRE_MUNMAP], 1);
        assert_int_equal(t.n_kind[WIRE_BRK], 2);
        assert_int_equal(t.n_kind[WIRE_MPROTECT], 1);
}

static void test_free_stacks(void **state) {
        const struct fake_options options = {.flags = WIRE_FREE_STACKS};
        struct fake_recorder r;
        struct fake_tally t;

        run(&r, &options, (char *)"family");
        fake_recorder_tally(&r, 0, &t);
        assert_int_equal(t.n_kind[WIRE_FREE], 0);
        assert_int_equal(t.n_kind[WIRE_FREE_STACK], 10);
        assert_int_equal(t.complete, t.n_stacks);
        fake_recorder_done(&r);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_form_counts_once),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_thread_states_are_reused),
                cmocka_unit_test(test_fork_and_raw_clone),
                cmocka_unit_test(test_signals_inside_the_runtime),
                cmocka_unit_test(test_handlers_that_never_return),
                cmocka_unit_test(test_small_ring_loses_nothing),
                cmocka_unit_test(test_stuck_recorder),
                cmocka_unit_test(test_waits_that_overlap_are_one),
                cmocka_unit_test(test_lossy_never_waits),
                cmocka_unit_test(test_recording_resumes_after_loss),
                cmocka_unit_test(test_end_of_recording_releases_waiters),
                cmocka_unit_test(test_no_recorder),
                cmocka_unit_test(test_exec_with_an_empty_environment),
                cmocka_unit_test(test_plugin_with_its_own_cxx_library),
                cmocka_unit_test(test_mappings),
                cmocka_unit_test(test_free_stacks),
        };

        if (argc < 4)
                return 2;
        runtime_path = argv[1];
        target_path = argv[2];
        plugin_path = argv[3];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
