/* SPDX-License-Identifier: MIT */
/* What is left of processes that are over: nothing, but what checkpoints and their children need. */
#include "ledger/ended.h"

#include "pipeline/testing/pipeline_setup.h"

enum { N_SITES = 30, FIRST_SITE = 100 };

static struct pipeline_stats stats_of(struct setup *s) {
        struct pipeline_stats stats;

        pipeline_get_stats(s->t.pipeline, &stats);
        return stats;
}

static void end_slice(struct setup *s) {
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, true);
}

/* A child of the first process that allocates at n_sites sites, keeps a third, and is over. */
static void run_child(struct setup *s, uint64_t n_sites) {
        struct fake_thread child;
        uint32_t idx;

        fake_put_words(&s->a, s->t.now, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, s->t.now, true);
        fake_put_words(&s->a, s->t.now, WIRE_FORK_DONE, NULL, 0);
        fake_add_thread(&s->t, &child, idx, 1000 + idx);
        for (uint64_t i = 0; i < n_sites; i++) {
                fake_alloc(&child, s->t.now, 0x100000 + i * 64, 16, FIRST_SITE + i);
                if (i % 3)
                        fake_free(&child, s->t.now, 0x100000 + i * 64);
        }
        fake_settle(&s->t);
        pipeline_end_process(s->t.pipeline, idx, s->t.now);
        fake_settle(&s->t);
}

static void test_nothing_is_left(void **state) {
        struct setup *s = *state;
        struct pipeline_stats half, whole;

        fake_alloc(&s->a, s->t.now, 0x1000, 100, 1);
        fake_settle(&s->t);
        for (int i = 0; i < 100; i++)
                run_child(s, N_SITES);
        end_slice(s);
        half = stats_of(s);
        for (int i = 0; i < 100; i++)
                run_child(s, N_SITES);
        end_slice(s);
        whole = stats_of(s);
        assert_int_equal(s->t.n_ended, 200);
        assert_int_equal(s->t.ended.counts.n_allocs, N_SITES);
        assert_int_equal(half.n_sites, 1); /* the first process's */
        assert_int_equal(whole.n_sites, 1);
        assert_false(pipeline_get_totals(s->t.pipeline, 1, &(struct pipeline_totals){0}));

        pipeline_finish(s->t.pipeline, s->t.now);
        assert_int_equal(s->w->checkpoint.counts.n, 1 + 200 + 1);
        /* each child's own, and the block it inherited */
        assert_int_equal(s->w->checkpoint.sites.n, 1 + 200 * (N_SITES + 1));
}

/* Too many for a checkpoint: from then on there is none, and no memory is taken. */
static void test_checkpoints_cease(void **state) {
        struct setup *s = *state;
        size_t n_rows = 1000, n = ENDED_MAX_BYTES / sizeof(struct ended_site) / n_rows + 2;
        size_t n_written = 0;
        uint64_t most = 0;

        for (size_t i = 0; i < n; i++) {
                run_child(s, n_rows);
                end_slice(s);
                most = MAX(most, stats_of(s).site_bytes);
        }
        assert_true(most > ENDED_MAX_BYTES / 2);
        assert_true(most < 3ull * ENDED_MAX_BYTES);
        assert_true(stats_of(s).site_bytes < ENDED_MAX_BYTES / 8);
        pipeline_finish(s->t.pipeline, s->t.now);
        assert_int_equal(s->w->checkpoint.counts.n, 0);
        for (size_t i = 0; i < s->w->slices.n; i++)
                n_written += s->w->slices.items[i].sites.n;
        assert_int_equal(n_written, n * n_rows); /* the slices have them all */
}

/* Each forks the next and is over; the last one releases what the first allocated. */
static void test_chain(void **state) {
        enum { N = 50 };
        struct setup *s = *state;
        struct fake_thread last = s->a;
        uint32_t idx = s->idx;
        const struct trace_site *row;

        for (uint64_t i = 0; i < N; i++) {
                struct fake_thread child;
                uint32_t next;

                for (uint64_t k = 0; k < N_SITES; k++) {
                        fake_alloc(&last, s->t.now, 0x100000, 16, FIRST_SITE + k);
                        fake_free(&last, s->t.now, 0x100000);
                }
                fake_alloc(&last, s->t.now, 0x200000 + i * 64, 100 + i, 1);
                fake_put_words(&last, s->t.now, WIRE_FORK, NULL, 0);
                next = fake_fork(&s->t, idx, s->t.now, true);
                fake_add_thread(&s->t, &child, next, 1000 + (uint32_t)i);
                fake_settle(&s->t);
                pipeline_end_process(s->t.pipeline, idx, s->t.now);
                end_slice(s);
                last = child;
                idx = next;
        }
        /* of those before: the one site of a block that the last one still has */
        assert_in_range(stats_of(s).n_sites, N, N + 2 * N_SITES + 2);
        fake_free(&last, s->t.now, 0x200000);
        fake_free(&last, s->t.now, 0x200000 + 64 * (N - 1));
        end_slice(s);
        row = row_of(s, N, 1);
        assert_non_null(row);
        assert_int_equal(row->n_frees, 2);
        assert_int_equal(row->n_inherited_frees, 0); /* they had passed on to it */
        assert_int_equal(counts_of(s, N).n_unknown_frees, 0);

        pipeline_end_process(s->t.pipeline, idx, s->t.now);
        end_slice(s);
        end_slice(s);
        assert_in_range(stats_of(s).n_sites, 0, N_SITES + 1); /* the first process's */
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                TEST(test_nothing_is_left),
                TEST(test_checkpoints_cease),
                TEST(test_chain),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
