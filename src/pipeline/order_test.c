/* SPDX-License-Identifier: MIT */
/* Order: threads merged by time, inversions repaired, what stays broken counted. */
#include "pipeline/testing/pipeline_setup.h"

static void test_merges_threads_by_time(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_free(&s->a, 1300000, 0x1000);
        fake_alloc(&s->a, 1500000, 0x1000, 30, 1);
        fake_alloc(&s->b, 1400000, 0x1000, 20, 2);
        fake_free(&s->b, 1450000, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.n_inversions, 0);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_bytes, 30);
        assert_int_equal(s->w->events.items[2].size_bytes, 20);
}

static void test_waits_for_a_busy_thread(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1010000, 0x2000, 1, 2);
        s->t.now = 1200000;
        pipeline_pump(s->t.pipeline);
        atomic_store(&s->b.slot->busy, 1); /* read its clock, has not published */
        fake_alloc(&s->a, 1500000, 0x1000, 10, 1);
        s->t.now = 3000000;
        pipeline_pump(s->t.pipeline);
        assert_int_equal(counts_of(s, 0).n_allocs, 1);
        assert_true(pipeline_has_pending(s->t.pipeline));
        fake_free(&s->b, 1400000, 0x2000);
        atomic_store(&s->b.slot->busy, 0);
        pipeline_pump(s->t.pipeline);
        assert_int_equal(counts_of(s, 0).n_allocs, 2);
        assert_int_equal(s->w->events.items[1].op, TRACE_FREE);
        assert_false(pipeline_has_pending(s->t.pipeline));
}

/* A thread that was held up in its first record, before the recorder knew of it. */
static void test_waits_for_a_new_thread(void **state) {
        struct setup *s = *state;
        struct fake_thread c;
        struct trace_counts counts;

        s->t.now = 1200000;
        pipeline_pump(s->t.pipeline);
        fake_add_thread(&s->t, &c, s->idx, 103);
        atomic_store(&c.slot->busy, 1); /* its clock said 1300000 */
        fake_free(&s->a, 2000000, 0x1000);
        s->t.now = 3000000;
        pipeline_pump(s->t.pipeline);
        assert_true(pipeline_has_pending(s->t.pipeline));
        fake_alloc(&c, 1300000, 0x1000, 10, 1);
        atomic_store(&c.slot->busy, 0);
        counts = counts_now(s);
        assert_int_equal(counts.n_unknown_frees, 0);
        assert_int_equal(counts.n_inversions, 0);
        assert_int_equal(counts.live_blocks, 0);
}

/* A thread is in mid-record, all it published before is taken in the turn of a process that ended: the turns of others that ended
 * later go no further than it. */
static void test_waits_while_processes_end(void **state) {
        struct setup *s = *state;
        struct trace_counts c;
        uint32_t ended[2];

        for (int i = 0; i < 2; i++)
                ended[i] = fake_fork(&s->t, s->idx, 1010000, false);
        s->t.now = 1200000;
        for (int i = 0; i < 2; i++)
                pipeline_pump(s->t.pipeline);
        assert_false(pipeline_has_newcomers(s->t.pipeline));
        fake_alloc(&s->a, 1300000, 0x2000, 10, 1);
        atomic_store(&s->a.slot->busy, 1); /* its clock said 1500000 */
        fake_free(&s->b, 1800000, 0x1000);
        for (int i = 0; i < 2; i++)
                atomic_store(&fake_process(&s->t, ended[i])->exit_ts, 1600000 + i * 300000);
        s->t.now = 3000000;
        for (int i = 0; i < 2; i++)
                pipeline_end_process(s->t.pipeline, ended[i], 3000000);
        pipeline_pump(s->t.pipeline);
        assert_int_equal(counts_of(s, 0).n_allocs, 1);
        assert_int_equal(s->t.n_ended, 0);
        fake_alloc(&s->a, 1500000, 0x1000, 10, 1);
        atomic_store(&s->a.slot->busy, 0);
        c = counts_now(s);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_blocks, 1);
        assert_int_equal(s->t.n_ended, 2);
}

static void test_passes_over_a_stopped_thread(void **state) {
        struct setup *s = *state;
        struct pipeline_stats stats;

        atomic_store(&s->b.slot->busy, 1);
        s->t.now = 1200000;
        pipeline_pump(s->t.pipeline);
        fake_alloc(&s->a, 1500000, 0x1000, 10, 1);
        s->t.now = 3000000;
        pipeline_pump(s->t.pipeline);
        assert_int_equal(counts_of(s, 0).n_allocs, 0);
        s->t.now += 2ull * FAKE_HZ;
        pipeline_pump(s->t.pipeline);
        assert_int_equal(counts_of(s, 0).n_allocs, 1);
        pipeline_get_stats(s->t.pipeline, &stats);
        assert_int_equal(stats.n_forced, 1);
}

static void test_repairs_release_before_allocation(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_free(&s->b, 1100000, 0x1000); /* read its clock early */
        fake_alloc(&s->a, 1100400, 0x1000, 10, 1);
        c = counts_now(s);
        assert_int_equal(c.n_inversions, 1);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_frees, 1);
}

static void test_repairs_allocation_before_release(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1100000, 0x1000, 20, 2); /* early */
        fake_free(&s->b, 1100200, 0x1000);         /* of its own block: its thread's order holds */
        fake_free(&s->a, 1100400, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_frees, 2);
        assert_int_equal(c.n_temporary, 2);
        assert_int_equal(s->w->events.items[1].op, TRACE_FREE);
        assert_int_equal(s->w->events.items[1].thread, 0);
}

static void test_realloc_begun_after_its_address_was_reused(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1100000, 0x1000, 20, 2); /* early: a's realloc released it */
        fake_realloc_begin(&s->a, 1100100, 0x1000);
        fake_realloc_end(&s->a, 1100300, 0x3000, 40, WIRE_REALLOC_OK, 1);
        c = counts_now(s);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_bytes, 60);
        assert_int_equal(c.n_reallocs, 1);
}

static void test_release_before_realloc_ends(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        fake_realloc_begin(&s->a, 1100000, 0x1000);
        fake_free(&s->b, 1100200, 0x1000); /* early: of the block that realloc returns */
        fake_realloc_end(&s->a, 1100300, 0x1000, 40, WIRE_REALLOC_OK, 1);
        c = counts_now(s);
        assert_int_equal(c.n_reallocs, 1);
        assert_int_equal(c.n_frees, 2);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_blocks, 0);
}

static void test_allocation_overtakes_a_pair(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1); /* early: after b's release */
        fake_alloc(&s->b, 1100100, 0x1000, 20, 2);
        fake_free(&s->b, 1100200, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.n_allocs, 2);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_bytes, 10);
        assert_int_equal(c.n_temporary, 1);
}

static void test_implicit_free(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1100000, 0x1000, 20, 2);
        fake_free(&s->b, 1300000, 0x1000); /* too late to be the missing one */
        c = counts_now(s);
        assert_int_equal(c.n_implicit_frees, 1);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_inversions, 0);
        assert_int_equal(count_others(s, TRACE_IMPLICIT_FREE), 1);
}

static void test_lost(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        fake_put_words(&s->a, 1060000, WIRE_LOST, (uint64_t[]){7}, 1);
        s->a.depth = 0;
        fake_alloc(&s->a, 1070000, 0x2000, 10, 1);
        atomic_store(&s->a.slot->n_lost_events, 9); /* two more it never got to say */
        c = counts_now(s);
        assert_int_equal(c.n_lost, 7);
        s->t.dead_tid = 101;
        atomic_store(&s->a.slot->state,
                     (atomic_load(&s->a.slot->state) & ~0xffull) | WIRE_SLOT_EXITING);
        c = counts_now(s);
        c = counts_now(s);
        assert_int_equal(c.n_lost, 9);
        assert_int_equal(wire_slot_phase(atomic_load(&s->a.slot->state)), WIRE_SLOT_FREE);
}

/* Events that found no slot are the main process's losses once all is finished. */
static void test_lost_without_a_slot(void **state) {
        struct setup *s = *state;
        struct pipeline_stats stats;

        fake_alloc(&s->a, 1050000, 0x1000, 10, 1);
        atomic_store(&s->t.header->n_unslotted_events, 5);
        assert_int_equal(counts_now(s).n_lost, 0);
        pipeline_get_stats(s->t.pipeline, &stats);
        assert_int_equal(stats.n_unslotted, 5);
        pipeline_set_main(s->t.pipeline, 0);
        pipeline_finish(s->t.pipeline, 2000000);
        assert_int_equal(counts_now(s).n_lost, 5);
        assert_int_equal(count_others(s, TRACE_LOST), 1);
        pipeline_get_stats(s->t.pipeline, &stats);
        assert_int_equal(stats.n_unslotted, 0);
}

/* So are those of a slot that names nobody, though nothing else was ever seen. */
static void test_lost_of_nobody(void **state) {
        struct setup *s = *state;
        struct fake_thread nobody;

        pipeline_set_main(s->t.pipeline, 0);
        fake_add_thread(&s->t, &nobody, FAKE_N_PROCESSES - 1, 777);
        fake_alloc(&nobody, 1050000, 0x1000, 10, 1);
        for (int i = 0; i < 5; i++)
                fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
        pipeline_finish(s->t.pipeline, 2000000);
        assert_in_range(counts_now(s).n_lost, 1, 20); /* an estimate, made once */
        assert_int_equal(count_others(s, TRACE_LOST), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                TEST(test_merges_threads_by_time),
                TEST(test_waits_for_a_busy_thread),
                TEST(test_waits_for_a_new_thread),
                TEST(test_waits_while_processes_end),
                TEST(test_passes_over_a_stopped_thread),
                TEST(test_repairs_release_before_allocation),
                TEST(test_repairs_allocation_before_release),
                TEST(test_realloc_begun_after_its_address_was_reused),
                TEST(test_release_before_realloc_ends),
                TEST(test_allocation_overtakes_a_pair),
                TEST(test_implicit_free),
                TEST(test_lost),
                TEST(test_lost_without_a_slot),
                TEST(test_lost_of_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
