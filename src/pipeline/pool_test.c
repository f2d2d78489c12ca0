/* SPDX-License-Identifier: MIT */
/* Blocks that pools report, ranges that release them, marks. */
#include "pipeline/testing/pipeline_setup.h"

#include "pipeline/pools.h"

static void pool_alloc(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                       uint64_t site) {
        uint64_t pcs[2] = {0x10000 + site, 0x5000};

        fake_put_stack(t, time, WIRE_POOL_ALLOC, (uint64_t[]){address | WIRE_POOL, size_bytes}, 2,
                       pcs, 2, WIRE_END_COMPLETE);
}

static void free_range(struct fake_thread *t, uint64_t time, uint64_t begin, uint64_t end) {
        fake_put_words(t, time, WIRE_FREE_RANGE, (uint64_t[]){begin, end}, 2);
}

static void mark(struct fake_thread *t, uint64_t time, const char *text) {
        uint64_t words[1 + WIRE_MAX_MARK / 8] = {strlen(text)};

        memcpy(words + 1, text, strlen(text));
        fake_put_words(t, time, WIRE_MARK, words, 1 + (strlen(text) + 7) / 8);
}

/* The pool's own block and the first it hands out have one address; a range has the latter alone. */
static void test_range(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 4096, 1);
        for (uint64_t i = 0; i < 64; i++)
                pool_alloc(&s->a, 1100001 + i, 0x1000 + i * 64, 10 + i, 2);
        fake_free(&s->a, 1100100, (0x1000 + 5 * 64) | WIRE_POOL);
        assert_int_equal(counts_now(s).live_blocks, 64);
        free_range(&s->b, s->t.now, 0x1040, 0x1fc0); /* all but the first and the last */
        c = counts_now(s);
        assert_int_equal(c.live_blocks, 3);
        assert_int_equal(c.live_bytes, 4096 + 10 + 73);
        assert_int_equal(c.n_frees, 62);
        assert_int_equal(c.n_unknown_frees + c.n_implicit_frees + c.n_inversions, 0);
        free_range(&s->b, s->t.now, 0x1000, 0x1001);
        assert_int_equal(counts_now(s).live_bytes, 4096 + 73);
        free_range(&s->b, s->t.now, 0, UINT64_MAX);
        assert_int_equal(counts_now(s).live_bytes, 4096);
        fake_free(&s->a, s->t.now, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_unknown_frees + c.n_implicit_frees, 0);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(row_of(s, 0, 2)->n_frees, 64);
        assert_int_equal(row_of(s, 0, 1)->n_frees, 1);
}

/* A release of many is no exchange of a buffer for a larger one. */
static void test_range_moves_nothing(void **state) {
        struct setup *s = *state;

        pool_alloc(&s->a, 1100000, 0x1000, 10, 2);
        pool_alloc(&s->a, 1100001, 0x1040, 20, 2);
        free_range(&s->a, 1100002, 0x1000, 0x1040);
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, true);
        assert_int_equal(s->w->slices.items[s->w->slices.n - 1].moves.n, 0);
}

/* Another thread is given the address; its clock is a little ahead. The block is found by later ranges too. */
static void test_inversion(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        pool_alloc(&s->a, 1100000, 0x1000, 10, 1);
        pool_alloc(&s->b, 1200000, 0x1000, 20, 2);
        free_range(&s->a, 1200010, 0x1000, 0x2000);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 20);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_inversions, 1);
        free_range(&s->a, s->t.now, 0x1000, 0x2000);
        c = counts_now(s);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_implicit_frees + c.n_unknown_frees, 0);
}

static void test_fork(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        uint32_t idx;

        pool_alloc(&s->a, 1100000, 0x1000, 100, 1);
        pool_alloc(&s->a, 1100001, 0x3000, 1, 1);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1300000, true);
        fake_add_thread(&s->t, &child, idx, 201);
        free_range(&child, 1400000, 0x1000, 0x2000);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 101);
        free_range(&s->a, s->t.now, 0, 0x10000);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 0);
}

/* One record releases more than fits a slice (the writer asserts); addresses that are left behind do not pile up. */
static void test_many(void **state) {
        enum { N = TRACE_MAX_SLICE_EVENTS + 5000 };
        struct setup *s = *state;
        uint64_t time = 1100000;
        struct trace_counts c;

        for (uint64_t i = 0; i < N; i++)
                pool_alloc(&s->a, time++, 0x100000 + i * 512, 8, 1);
        free_range(&s->a, time++, 0x100000, 0x100000 + (N - 1) * 512);
        s->t.now = time;
        c = counts_now(s);
        assert_int_equal(c.live_blocks, 1);
        assert_int_equal(c.n_frees, N - 1);
        assert_int_equal(s->t.n_broken, 0);
}

static void test_marks(void **state) {
        struct setup *s = *state;
        uint64_t time = 1100000;

        mark(&s->a, time++, "warm-up\ndone");
        fake_settle(&s->t);
        assert_int_equal(s->w->n_notes, 1);
        assert_string_equal(s->w->last_note, "mark 101: warm-up done");
        time = s->t.now;
        mark(&s->a, time++, "");
        fake_settle(&s->t);
        assert_string_equal(s->w->last_note, "mark 101: ");
        time = s->t.now;
        for (int i = 0; i < 20000; i++)
                mark(&s->a, time++, "again");
        fake_settle(&s->t);
        assert_int_equal(s->w->n_notes, 10001);
        assert_string_equal(s->w->last_note, "only the first 10,000 marks were kept");
        fake_put_words(&s->a, s->t.now, WIRE_MARK, (uint64_t[2]){WIRE_MAX_MARK + 1}, 2);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
}

/* ---- the index alone ------------------------------------------------------------------------------ */

enum { SPAN = 40000 };

static bool visit_once(void *ctx, uint64_t address) {
        uint8_t *seen = ctx;

        assert_true(address < SPAN && seen[address] == 1);
        seen[address] = 2;
        return address % 7 == 0;
}

static void test_index(void **state) {
        static uint8_t seen[SPAN];
        struct pools p = {0};
        uint64_t random = 1;

        (void)state;
        for (int round = 0; round < 200; round++) {
                uint64_t begin, end;

                for (int i = 0; i < 300; i++) {
                        random = random * 6364136223846793005u + 1442695040888963407u;
                        pools_add(&p, (random >> 33) % SPAN);
                        seen[(random >> 33) % SPAN] = 1;
                }
                begin = (random >> 20) % SPAN, end = begin + (random >> 40) % (SPAN / 2);
                pools_visit(&p, begin, end, visit_once, seen);
                for (uint64_t i = 0; i < SPAN; i++)
                        if (i >= begin && i < end) {
                                assert_true(seen[i] != 1);
                                seen[i] = seen[i] == 2 && i % 7 == 0;
                        }
        }
        pools_visit(&p, 0, UINT64_MAX, visit_once, seen);
        for (uint64_t i = 0; i < SPAN; i++)
                assert_true(seen[i] != 1);
        pools_done(&p);
}

static bool is_third(void *ctx, uint64_t address) {
        (void)ctx;
        return address / POOLS_PAGE_BYTES % 3 == 0;
}

static bool count_all(void *ctx, uint64_t address) {
        (void)address;
        (*(size_t *)ctx)++;
        return true;
}

static void test_sweep(void **state) {
        struct pools p = {0}, copy = {0};
        size_t n = 0, n_copied = 0;

        (void)state;
        for (uint64_t i = 0; i < POOLS_MIN_SWEEP; i++) {
                assert_false(pools_wants_sweep(&p));
                pools_add(&p, i * POOLS_PAGE_BYTES + i % POOLS_PAGE_BYTES);
        }
        assert_true(pools_wants_sweep(&p));
        pools_sweep(&p, is_third, NULL);
        assert_false(pools_wants_sweep(&p));
        pools_copy(&copy, &p);
        pools_visit(&p, 0, UINT64_MAX, count_all, &n);
        pools_visit(&copy, 0, UINT64_MAX, count_all, &n_copied);
        assert_int_equal(n, (POOLS_MIN_SWEEP + 2) / 3);
        assert_int_equal(n_copied, n);
        assert_int_equal(p.pages.n, n);
        pools_done(&p);
        pools_done(&copy);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_range, setup, teardown),
                cmocka_unit_test_setup_teardown(test_range_moves_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_inversion, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
                cmocka_unit_test(test_index),
                cmocka_unit_test(test_sweep),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
