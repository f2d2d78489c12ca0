/* SPDX-License-Identifier: MIT */
/* Stacks that are told by tokens are those that frames would have told: the program's sizes say which they are.
 *   tokens_test LIBSILT TARGET PLUGIN */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/testing/fake_recorder.h"

enum { N_PATHS = 6561, FIRST_BYTES = 10000 }; /* as in tokens_target.c */

static char *runtime_path, *target_path, *plugin_path;

static void record(struct fake_recorder *r, const struct fake_options *options, char *argv[]) {
        int status;

        fake_recorder_open(r, options);
        status = fake_recorder_run(r, runtime_path, argv);
        fake_recorder_close(r);
        assert_int_equal(status, 0);
        assert_int_equal(r->n_broken, 0);
}

static void run(struct fake_recorder *r, const struct fake_options *options, const char *what) {
        record(r, options, (char *[]){target_path, (char *)what, NULL});
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

/* The number of the path that an event of the program's says it is of; -1: none. */
static int path_of(const struct fake_event *e) {
        uint64_t size = e->word[1];

        if (e->kind == WIRE_MMAP && size % 4096 == 0)
                size /= 4096;
        else if (e->kind != WIRE_ALLOC)
                return -1;
        return size >= FIRST_BYTES && size < FIRST_BYTES + N_PATHS ? (int)size - FIRST_BYTES : -1;
}

/* One size, one stack; two sizes, two stacks. Returns how many events said so. */
static uint64_t check_paths(const struct fake_recorder *r) {
        static uint64_t paths[N_PATHS];
        uint64_t n_events = 0, n_paths = 0;

        memset(paths, 0, sizeof(paths));
        for (size_t i = 0; i < r->n_events; i++) {
                const struct fake_event *e = &r->events[i];
                int path = path_of(e);

                if (path < 0)
                        continue;
                if (paths[path] == 0)
                        paths[path] = e->path;
                assert_true(paths[path] == e->path);
                if (e->kind == WIRE_ALLOC)
                        assert_int_equal(e->form, path % 2 ? WIRE_FORM_MALLOC : WIRE_FORM_CALLOC);
                n_events++;
        }
        qsort(paths, N_PATHS, sizeof(paths[0]), compare);
        for (size_t i = 1; i < N_PATHS; i++) {
                n_paths += paths[i] != 0;
                assert_true(paths[i] == 0 || paths[i] != paths[i - 1]);
        }
        assert_true(n_paths > 3);
        return n_events;
}

static void test_table_grows(void **state) {
        const struct fake_options options = {.n_lent_max = 32};
        struct fake_recorder r;

        run(&r, &options, "paths");
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        assert_int_equal(check_paths(&r), 8 * N_PATHS);
        if (!SILT_TINY) { /* told once in each of three tables, and by tokens from then on */
                assert_in_range(r.n_known, 4 * N_PATHS, 7 * N_PATHS);
                assert_in_range(atomic_load(&fake_recorder_process(&r, 0)->runtime_bytes), 1,
                                (256 + 128) << 10);
        }
        fake_recorder_done(&r);
}

/* What comes again costs three words; so few paths take one page more than none. */
static void test_few_paths_stay_small(void **state) {
        const struct fake_options options = {.n_lent_max = 32};
        struct fake_recorder r;

        run(&r, &options, "few");
        assert_int_equal(check_paths(&r), 50000);
        if (!SILT_TINY) {
                assert_in_range(r.n_known, 49900, 50000);
                assert_in_range(r.n_words, 5 * 50000, 5 * 50000 + 2000);
                assert_in_range(atomic_load(&fake_recorder_process(&r, 0)->runtime_bytes), 1,
                                24 << 10);
        }
        fake_recorder_done(&r);
}

static void test_loss_ends_all_tokens(void **state) {
        const struct fake_options options = {.is_stuck = true,
                                             .recovers = true,
                                             .flags = WIRE_LOSSY,
                                             .n_lent_max = 1};
        struct fake_recorder r;

        run(&r, &options, "long");
        assert_true(fake_recorder_n_lost(&r) > 0);
        check_paths(&r);
        fake_recorder_done(&r);
}

static void test_rings_of_other_threads(void **state) {
        const struct fake_options options = {.frees_slots = true};
        struct fake_recorder r;

        run(&r, &options, "threads");
        assert_int_equal(check_paths(&r), 200 * 1000);
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        fake_recorder_done(&r);
}

static void test_children_begin_anew(void **state) {
        const struct fake_options options = {.n_lent_max = 32};
        struct fake_recorder r;

        run(&r, &options, "forks");
        assert_int_equal(check_paths(&r), 30 * 400);
        fake_recorder_done(&r);
}

static void test_handlers_that_never_return(void **state) {
        const struct fake_options options = {.n_lent_max = 32};
        struct fake_recorder r;

        run(&r, &options, "jumps");
        assert_true(check_paths(&r) > 300);
        fake_recorder_done(&r);
}

static void copy_to(const char *from, char *to) {
        static char bytes[65536];
        FILE *in = fopen(from, "r"), *out;
        int fd = mkstemp(to);
        size_t n;

        assert_true(in && fd >= 0);
        out = fdopen(fd, "w");
        while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
                assert_int_equal(fwrite(bytes, 1, n, out), n);
        fclose(in);
        assert_int_equal(fclose(out), 0);
}

/* Two libraries by turns at the same addresses. (A tiny runtime announces objects when nothing has changed, too.) */
static void test_other_code_in_the_same_place(void **state) {
        const struct fake_options options = {.n_lent_max = 32, .checks_modules = !SILT_TINY};
        char one[] = "/tmp/silt-tokens-XXXXXX", other[] = "/tmp/silt-tokens-XXXXXX";
        struct fake_recorder r;

        copy_to(plugin_path, one);
        copy_to(plugin_path, other);
        record(&r, &options, (char *[]){target_path, (char *)"reload", one, other, NULL});
        unlink(one);
        unlink(other);
        if (!SILT_TINY)
                assert_true(r.n_known > 1000);
        fake_recorder_done(&r);
}

static void test_very_deep_stacks(void **state) {
        const struct fake_options options = {.n_lent_max = 32};
        struct fake_recorder r;

        run(&r, &options, "deep");
        assert_int_equal(fake_recorder_n_lost(&r), 0);
        fake_recorder_done(&r);
}

static void test_other_records_with_stacks(void **state) {
        const struct fake_options options = {.n_lent_max = 32, .flags = WIRE_FREE_STACKS};
        struct fake_recorder r;
        struct fake_tally t;

        run(&r, &options, "forms");
        fake_recorder_tally(&r, 0, &t);
        assert_int_equal(t.reallocations, 200);
        assert_int_equal(t.frees, 500);
        assert_int_equal(t.n_form[WIRE_FORM_ALIGNED], 200);
        assert_int_equal(t.n_form[WIRE_FORM_REALLOC], 200);
        assert_int_equal(t.complete, t.n_stacks);
        if (!SILT_TINY)
                assert_in_range(r.n_words, 3000, 4600);
        fake_recorder_done(&r);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table_grows),
                cmocka_unit_test(test_few_paths_stay_small),
                cmocka_unit_test(test_loss_ends_all_tokens),
                cmocka_unit_test(test_rings_of_other_threads),
                cmocka_unit_test(test_children_begin_anew),
                cmocka_unit_test(test_handlers_that_never_return),
                cmocka_unit_test(test_other_code_in_the_same_place),
                cmocka_unit_test(test_very_deep_stacks),
                cmocka_unit_test(test_other_records_with_stacks),
        };

        if (argc < 4)
                return 2;
        runtime_path = argv[1];
        target_path = argv[2];
        plugin_path = argv[3];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
