/* SPDX-License-Identifier: MIT */
/* Sampled blocks: what they stand for, what is temporary among them, and what is counted beside them. */
#include "pipeline/testing/pipeline_setup.h"

#include "pipeline/pipeline_state.h"
#include "wire/sample_draw.h"

static int setup_sampled(void **state) {
        struct setup *s;

        setup(state);
        s = *state;
        s->t.pipeline->pair.is_sampled = s->t.pipeline->sites.is_sampled = true;
        return 0;
}

static void sample(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                   uint64_t mean_bytes, uint64_t n_allocs) {
        uint64_t pcs[2] = {0x10001, 0x5000};

        fake_put_stack(t, time, WIRE_SAMPLE,
                       (uint64_t[]){address, size_bytes, mean_bytes, n_allocs}, 4, pcs, 2,
                       WIRE_END_COMPLETE);
}

static void sample_free(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t n_allocs) {
        fake_put_words(t, time, WIRE_SAMPLE_FREE, (uint64_t[]){address, n_allocs}, 2);
}

static void test_weights(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        sample(&s->a, 1100000, 0x1000, 984, 1024000, 7); /* one in 1,024.5 */
        sample(&s->a, 1100001, 0x2000, 50, 0, 8);        /* itself alone */
        sample(&s->a, 1100002, 0x3000, 1 << 20, 1024, 9);
        c = counts_now(s);
        assert_in_range(c.n_allocs, 1024 + 2, 1025 + 2);
        assert_int_equal(c.live_blocks, c.n_allocs);
        assert_int_equal(c.alloc_bytes, (c.n_allocs - 2) * 984 + 50 + (1 << 20));
        assert_int_equal(c.peak_bytes, c.alloc_bytes);
        assert_int_equal(c.n_complete_stacks, c.n_allocs);
        sample_free(&s->b, s->t.now, 0x1000, 1);
        assert_int_equal(counts_now(s).live_bytes, 50 + (1 << 20));
        assert_int_equal(counts_now(s).n_frees, c.n_allocs - 2);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(row_of(s, 0, 1)->n_allocs, c.n_allocs);
        assert_int_equal(s->w->slices.items[s->w->slices.n - 1].moves.n, 0);
        assert_int_equal(s->w->events.items[0].n_blocks, c.n_allocs - 2);
        assert_int_equal(s->w->events.items[3].n_blocks, c.n_allocs - 2); /* its release */
}

/* Nothing of the same thread in between; what was not sampled counts too. */
static void test_temporary(void **state) {
        struct setup *s = *state;

        sample(&s->a, 1100000, 0x1000, 100, 0, 5);
        sample_free(&s->a, 1100001, 0x1000, 5);
        sample(&s->a, 1100002, 0x1000, 100, 0, 6);
        sample_free(&s->a, 1100003, 0x1000, 9);
        sample(&s->a, 1100004, 0x1000, 100, 0, 10);
        sample_free(&s->b, 1100005, 0x1000, 10);
        assert_int_equal(counts_now(s).n_temporary, 1);
        assert_int_equal(count_others(s, TRACE_UNSAMPLED), 1);
        assert_int_equal(counts_now(s).n_frees, 3);
}

/* realloc of a sampled block: its end, and then a block like any other, or none that is sampled. */
static void test_reallocated(void **state) {
        struct setup *s = *state;

        sample(&s->a, 1100000, 0x1000, 100, 0, 5);
        fake_realloc_begin(&s->a, 1100001, 0x1000);
        sample(&s->b, 1100002, 0x1000, 70, 0, 1); /* given to another at once */
        fake_realloc_end(&s->a, 1100003, 0, 5, WIRE_REALLOC_RELEASED, 1);
        sample(&s->a, 1100004, 0x2000, 200, 0, 6);
        assert_int_equal(counts_now(s).live_bytes, 270);
        assert_int_equal(counts_now(s).n_temporary, 1);
        fake_realloc_begin(&s->a, s->t.now, 0x2000);
        fake_realloc_end(&s->a, s->t.now + 1, 0, 300, WIRE_REALLOC_FAILED, 1);
        assert_int_equal(counts_now(s).live_bytes, 270);
        assert_int_equal(counts_now(s).n_failed, 1);
        assert_int_equal(counts_now(s).n_unknown_frees + counts_now(s).n_implicit_frees, 0);
}

/* A forked child has them with the same weight. */
static void test_fork(void **state) {
        struct setup *s = *state;
        struct fake_thread c;
        uint32_t idx;
        uint64_t live_bytes;

        sample(&s->a, 1100000, 0x1000, 1000, 1024000, 1);
        fake_put_words(&s->a, 1100100, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1100100, true);
        fake_put_words(&s->a, 1100200, WIRE_FORK_DONE, NULL, 0);
        live_bytes = counts_now(s).live_bytes;
        fake_add_thread(&s->t, &c, idx, 200);
        sample(&c, s->t.now, 0x9000, 10, 0, 1);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, live_bytes + 10);
        sample_free(&c, s->t.now, 0x1000, 1);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 10);
        assert_int_equal(counts_of(s, 0).live_bytes, live_bytes);
}

static void tally(struct wire_tally *t, uint64_t n) {
        atomic_store(&t->n_allocs, n);
        atomic_store(&t->due_bytes, (uint64_t)-400);
        atomic_store(&t->sample_at, sample_charge(100) * n + 400);
        atomic_store(&t->next_at, sample_charge(100) * n + 400);
        atomic_store(&t->n_frees, n - 1);
        atomic_store(&t->n_reallocs, 1);
}

static void tally_nested(struct wire_nested_tally *t, uint64_t n) {
        atomic_store(&t->n_allocs, n);
        atomic_store(&t->alloc_bytes, 100 * n);
        atomic_store(&t->n_frees, n - 1);
        atomic_store(&t->n_reallocs, 1);
}

/* Killed between any two stores of a draw, a thread leaves the bytes it allocated. */
static void test_bytes_while_drawing(void **state) {
        const uint64_t n = 3, bytes = 1000, at = bytes + n * SAMPLE_BLOCK_CHARGE - 7,
                       next = at + 507;

        assert_int_equal(sample_alloc_bytes(n, 7, at, at), bytes);
        assert_int_equal(sample_alloc_bytes(n, 7, at, next), bytes);
        assert_int_equal(sample_alloc_bytes(n, 7 - 507ull, at, next), bytes);
        assert_int_equal(sample_alloc_bytes(n, 7 - 507ull, next, next), bytes);
        assert_int_equal(sample_alloc_bytes(0, 0, 0, 0), 0);
}

/* Sums of threads that live and of those that are gone, without one record of theirs; never less than before. */
static void test_tally(void **state) {
        struct setup *s = *state;

        tally(&s->a.slot->tally, 1000);
        tally_nested(&s->a.slot->nested_tally, 10);
        tally(&s->b.slot->tally, 5);
        s->t.dead_tid = 102;
        for (int i = 0; i < 3; i++) { /* it is asked for, then read to its end */
                s->t.now += 60000000000;
                fake_settle(&s->t);
        }
        pipeline_put_tallies(s->t.pipeline);
        assert_int_equal(s->w->tally.n_allocs, 1015);
        assert_int_equal(s->w->tally.alloc_bytes, 101500);
        assert_int_equal(s->w->tally.n_frees, 1012);
        assert_int_equal(s->w->tally.n_reallocs, 3);
        assert_int_equal(atomic_load(&s->b.slot->tally.n_allocs), 0); /* free for the next one */
        tally(&s->a.slot->tally, 1);
        pipeline_put_tallies(s->t.pipeline);
        assert_int_equal(s->w->tally.n_allocs, 1015);
}

/* Records that a recording of everything does not have. */
static void test_not_sampled(void **state) {
        struct setup *s = *state;

        s->t.pipeline->pair.is_sampled = false;
        sample(&s->a, 1100000, 0x1000, 1000, 1024000, 7);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_weights, setup_sampled, teardown),
                cmocka_unit_test_setup_teardown(test_temporary, setup_sampled, teardown),
                cmocka_unit_test_setup_teardown(test_reallocated, setup_sampled, teardown),
                cmocka_unit_test_setup_teardown(test_fork, setup_sampled, teardown),
                cmocka_unit_test(test_bytes_while_drawing),
                cmocka_unit_test_setup_teardown(test_tally, setup_sampled, teardown),
                cmocka_unit_test_setup_teardown(test_not_sampled, setup_sampled, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
