/* SPDX-License-Identifier: MIT */
/* Cuts: what happened before a moment and what happened after it are kept apart, whatever the rings hold. */
#include "pipeline/testing/pipeline_setup.h"

/* Events of all slices but the last `n_after`. */
static size_t n_events_before(const struct setup *s, size_t n_after) {
        size_t n = 0;

        for (size_t i = 0; i + n_after < s->w->slices.n; i++)
                n += s->w->slices.items[i].n_events;
        return n;
}

static void test_cut_between_events(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1300000, 0x2000, 20, 2);
        s->t.now = 1500000;
        assert_true(pipeline_begin_cut(s->t.pipeline));
        assert_false(pipeline_begin_cut(s->t.pipeline));
        /* both are in the rings before the recorder comes to the cut */
        fake_alloc(&s->a, 1600000, 0x3000, 40, 1);
        fake_free(&s->b, 1700000, 0x2000);
        s->t.now = 1550000; /* less than the margin behind it: something may still be on its way */
        pipeline_pump(s->t.pipeline);
        assert_true(pipeline_is_cutting(s->t.pipeline));
        fake_settle(&s->t);
        assert_false(pipeline_is_cutting(s->t.pipeline));
        assert_int_equal(s->t.n_cuts, 1);
        assert_int_equal(s->t.cut_live_bytes, 30);
        assert_in_range(s->t.cut_ns, 1500000, 1501000);
        assert_int_equal(s->w->slices.n, 1);
        assert_int_equal(s->w->slices.items[0].end_ns, s->t.cut_ns);
        assert_int_equal(s->w->slices.items[0].n_events, 2);
        assert_int_equal(counts_of(s, 0).live_bytes, 50);
        assert_true(pipeline_begin_cut(s->t.pipeline)); /* the next */
}

/* What is live is exact at such a cut, too; the file is that of a recording without it. */
static void test_cut_that_nobody_asks_for(void **state) {
        struct setup *s = *state;

        s->t.has_passing_cuts = true;
        s->w->wants_checkpoints = true;
        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1300000, 0x2000, 20, 2);
        s->t.now = 1500000;
        assert_true(pipeline_begin_cut(s->t.pipeline));
        fake_alloc(&s->a, 1600000, 0x3000, 40, 1);
        fake_free(&s->b, 1700000, 0x2000);
        fake_settle(&s->t);
        assert_false(pipeline_is_cutting(s->t.pipeline));
        assert_int_equal(s->t.n_cuts, 1);
        assert_int_equal(s->t.cut_live_bytes, 30);
        assert_in_range(s->t.cut_ns, 1500000, 1501000);
        assert_int_equal(s->w->slices.n, 0);
        assert_int_equal(s->w->checkpoint.counts.n, 0);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(s->w->slices.n, 1);
        assert_int_equal(s->w->slices.items[0].n_events, 4);
        assert_int_equal(counts_of(s, 0).live_bytes, 50);
}

/* A program that allocates nothing is sampled all the same: who reads the file meanwhile finds where it is. */
static void test_slice_of_samples_alone(void **state) {
        struct setup *s = *state;

        pipeline_end_slice(s->t.pipeline, 1500000, true);
        pipeline_end_slice(s->t.pipeline, 1600000, false);
        assert_int_equal(s->w->slices.n, 1);
        s->w->n_open_ticks = 1;
        pipeline_end_slice(s->t.pipeline, 1700000, false);
        assert_int_equal(s->w->slices.n, 2);
}

static void test_cut_waits_for_a_busy_thread(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1010000, 0x2000, 1, 2);
        s->t.now = 1200000;
        pipeline_pump(s->t.pipeline);
        atomic_store(&s->b.slot->busy, 1); /* read its clock, has not published */
        s->t.now = 1500000;
        assert_true(pipeline_begin_cut(s->t.pipeline));
        fake_alloc(&s->a, 1600000, 0x1000, 10, 1);
        s->t.now = 3000000;
        pipeline_pump(s->t.pipeline);
        assert_true(pipeline_is_cutting(s->t.pipeline));
        fake_free(&s->b, 1400000, 0x2000); /* it was before the cut */
        atomic_store(&s->b.slot->busy, 0);
        pipeline_pump(s->t.pipeline);
        assert_int_equal(s->t.n_cuts, 1);
        assert_int_equal(s->t.cut_live_bytes, 0);
        assert_int_equal(counts_of(s, 0).live_bytes, 10);
}

static void test_cut_at_the_end(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        s->t.now = 1500000;
        assert_true(pipeline_begin_cut(s->t.pipeline));
        fake_alloc(&s->a, 1600000, 0x2000, 20, 1);
        s->t.now = 1500001; /* the recording ends before the cut is reached */
        pipeline_finish(s->t.pipeline, 1700000);
        assert_int_equal(s->t.n_cuts, 1);
        assert_int_equal(s->t.cut_live_bytes, 10);
        assert_int_equal(s->w->slices.n, 2);
        assert_int_equal(s->w->slices.items[0].n_events, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 30);
}

static void test_cut_of_nothing(void **state) {
        struct setup *s = *state;

        fake_settle(&s->t);
        for (uint32_t i = 1; i <= 3; i++) {
                assert_true(pipeline_begin_cut(s->t.pipeline));
                fake_settle(&s->t);
                assert_int_equal(s->t.n_cuts, i);
                assert_int_equal(s->w->slices.n, i);
        }
        assert_int_equal(n_events_before(s, 0), 0);
}

/* It said that it exits, was copied then, and is gone before the recorder comes to the cut. */
static void test_cut_of_one_that_exits(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        atomic_store(&fake_process(&s->t, s->idx)->exit_ts, 1200000);
        s->t.now = 1500000;
        assert_true(pipeline_begin_cut(s->t.pipeline));
        pipeline_keep_until_cut(s->t.pipeline, s->idx);
        s->t.now = 1500001;
        pipeline_end_process(s->t.pipeline, s->idx, s->t.now);
        for (int i = 0; i < 4; i++)
                pipeline_pump(s->t.pipeline);
        assert_int_equal(s->t.n_cuts + s->t.n_ended, 0);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_cuts, 1);
        assert_int_equal(s->t.cut_live_bytes, 10);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_ended, 1); /* and then it ends */
}

/* Two threads at random, cuts at random, the recorder more or less behind: each cut is where a plain sum says. */
static void test_random_cuts(void **state) {
        struct setup *s = *state;
        struct fake_thread *threads[] = {&s->a, &s->b};
        uint64_t random = 88172645463325252u, time = 1100000, live[2][64] = {{0}}, held = 0;
        uint64_t expected = 0, cut_time = 0;
        uint32_t n_cuts = 0;

        for (int i = 0; i < 20000; i++) {
                unsigned t, k;

                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                t = random & 1, k = random >> 1 & 63;
                time += random >> 8 & 2047;
                if (live[t][k]) {
                        fake_free(threads[t], time, 0x1000 * (t * 64 + k + 1));
                        held -= live[t][k];
                        live[t][k] = 0;
                } else {
                        live[t][k] = 1 + (random >> 20 & 1023);
                        fake_alloc(threads[t], time, 0x1000 * (t * 64 + k + 1), live[t][k], k);
                        held += live[t][k];
                }
                if (s->t.n_cuts < n_cuts) { /* one under way */
                        if ((random >> 40 & 15) == 0) {
                                s->t.now = time + (random >> 44 & 0xfffff);
                                pipeline_pump(s->t.pipeline);
                                time = s->t.now;
                        }
                        if (s->t.n_cuts < n_cuts)
                                continue;
                        assert_int_equal(s->t.cut_live_bytes, expected);
                        assert_in_range(s->t.cut_ns, cut_time, cut_time + 1000);
                } else if ((random >> 40 & 31) == 0) {
                        s->t.now = cut_time = ++time;
                        assert_true(pipeline_begin_cut(s->t.pipeline));
                        expected = held;
                        n_cuts++;
                }
        }
        fake_settle(&s->t);
        assert_int_equal(s->t.n_cuts, n_cuts);
        assert_true(n_cuts > 100);
        for (size_t i = 1, e = 0; i < s->w->slices.n; i++) { /* no event on the wrong side */
                uint64_t end_ns = s->w->slices.items[i - 1].end_ns;

                for (size_t n = s->w->slices.items[i - 1].n_events; n > 0; n--)
                        assert_true(s->w->events.items[e++].time_ns <= end_ns);
                if (e < s->w->events.n)
                        assert_true(s->w->events.items[e].time_ns >= end_ns);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_cut_between_events, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cut_that_nobody_asks_for, setup, teardown),
                cmocka_unit_test_setup_teardown(test_slice_of_samples_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cut_waits_for_a_busy_thread, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cut_at_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cut_of_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cut_of_one_that_exits, setup, teardown),
                cmocka_unit_test_setup_teardown(test_random_cuts, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
