/* SPDX-License-Identifier: MIT */
/* A process that was attached to: releases of older blocks, and addresses that are handed out again right behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"

struct prior {
        struct fake_target t;
        struct trace_writer *w;
        struct fake_thread a, b;
};

static struct prior p;

static int setup(void **state) {
        const struct pipeline_config attached = {.prior = true};
        uint32_t idx;

        (void)state;
        p = (struct prior){.w = fake_writer_new(true)};
        fake_target_init(&p.t, p.w, &attached);
        p.t.now = 1000000;
        idx = fake_add_image(&p.t, p.w);
        fake_add_thread(&p.t, &p.a, idx, 100);
        fake_add_thread(&p.t, &p.b, idx, 101);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        fake_target_done(&p.t);
        fake_writer_free(p.w);
        return 0;
}

static void delete_sized(struct fake_thread *t, uint64_t time, uint64_t address,
                         uint64_t size_bytes) {
        fake_put_words(t, time, WIRE_FREE_SIZED, (uint64_t[]){address, size_bytes}, 2);
}

static struct trace_counts counts_now(void) {
        struct pipeline_totals totals;

        fake_settle(&p.t);
        assert_true(pipeline_get_totals(p.t.pipeline, 0, &totals));
        return totals.counts;
}

static void check(uint64_t n_prior, uint64_t n_inversions, uint64_t n_live) {
        struct trace_counts c = counts_now();

        assert_int_equal(c.n_prior_frees, n_prior);
        assert_int_equal(c.n_inversions, n_inversions);
        assert_int_equal(c.live_blocks, n_live);
        assert_int_equal(c.n_wrong_sizes, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.n_implicit_frees, 0);
}

static void test_address_goes_to_another_thread(void **state) {
        (void)state;
        fake_free(&p.a, 1100000, 0x1000);
        fake_alloc(&p.b, 1102000, 0x1000, 48, 1);
        check(1, 0, 1);
        fake_free(&p.b, p.t.now, 0x1000);
        check(1, 0, 0);
}

/* However soon it is handed out again: a size tells the two apart. */
static void test_size_tells_at_once(void **state) {
        (void)state;
        delete_sized(&p.a, 1100000, 0x1000, 100);
        fake_alloc(&p.b, 1100010, 0x1000, 48, 1);
        delete_sized(&p.b, 1100500, 0x1000, 48);
        check(1, 0, 0);
}

static void test_own_thread(void **state) {
        (void)state;
        fake_free(&p.a, 1100000, 0x1000);
        fake_alloc(&p.a, 1100010, 0x1000, 48, 1);
        fake_free(&p.b, 1100500, 0x1000);
        check(1, 0, 0);
}

static void test_realloc_of_older(void **state) {
        (void)state;
        fake_realloc_begin(&p.a, 1100000, 0x1000);
        fake_realloc_end(&p.a, 1100100, 0x2000, 30, WIRE_REALLOC_OK, 2);
        fake_alloc(&p.b, 1103000, 0x1000, 48, 1);
        check(1, 0, 2);
}

/* A block that passed to another thread, whose counter was read early, is still known. */
static void test_inversion(void **state) {
        (void)state;
        delete_sized(&p.a, 1100000, 0x1000, 48);
        fake_alloc(&p.b, 1100100, 0x1000, 48, 1);
        check(0, 1, 0);
}

/* Blocks of random sizes pass between two threads, among releases of older ones whose addresses are used again at once. */
static void test_traffic(void **state) {
        uint64_t n_prior = 0, n_live = 0, time = 1100000, sizes[64] = {0};

        (void)state;
        srandom(15);
        for (unsigned i = 0; i < 20000; i++) {
                struct fake_thread *t = random() % 2 ? &p.a : &p.b;
                uint64_t k = (uint64_t)random() % 64, address = 0x10000 + k * 4096;
                uint64_t size_bytes = 16 + (uint64_t)random() % 3 * 16;

                time += 1100 + (uint64_t)random() % 5000;
                if (sizes[k] == 0 && i < 64) { /* an older block */
                        delete_sized(t, time, address, 16 + (uint64_t)random() % 3 * 16);
                        time += 1 + (uint64_t)random() % 3000;
                        /* of equal sizes, within the skew, nobody could tell */
                        fake_alloc(t, time, address, size_bytes, 1);
                        sizes[k] = size_bytes;
                        n_prior++;
                        n_live++;
                } else if (sizes[k]) {
                        delete_sized(t, time, address, sizes[k]);
                        sizes[k] = 0;
                        n_live--;
                } else if (i >= 64) {
                        fake_alloc(t, time, address, size_bytes, 1);
                        sizes[k] = size_bytes;
                        n_live++;
                }
                p.t.now = time;
        }
        check(n_prior, 0, n_live);
}

/* A thread was inside a hook when the entries were taken out, and gets what another released unseen. */
static void test_leaving(void **state) {
        (void)state;
        fake_alloc(&p.a, 1100000, 0x1000, 48, 1);
        fake_alloc(&p.b, 1101000, 0x2000, 48, 1);
        fake_settle(&p.t);
        atomic_store(&p.t.header->leave_ts, 1200000);
        fake_free(&p.a, 1199000, 0x2000); /* was written before it stopped, or behind that */
        fake_alloc(&p.b, 1200001, 0x1000, 32, 1);
        fake_alloc(&p.b, 1200100, 0x3000, 32, 1);
        check(0, 0, 1);
        for (unsigned i = 0; i < 4000; i++) /* several chunks: none of it is a record any more */
                fake_alloc(&p.b, 1300000 + i, 0x10000 + 64 * i, 32, 1 + i % 7);
        check(0, 0, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                TEST(test_address_goes_to_another_thread),
                TEST(test_size_tells_at_once),
                TEST(test_own_thread),
                TEST(test_realloc_of_older),
                TEST(test_inversion),
                TEST(test_traffic),
                TEST(test_leaving),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
