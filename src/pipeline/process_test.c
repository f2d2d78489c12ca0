/* SPDX-License-Identifier: MIT */
/* Several processes: fork, exec, inherited blocks, the peak of all. */
#include <sys/mman.h>
#include <unistd.h>

#include "ledger/live.h"
#include "pipeline/block_residency.h"
#include "pipeline/released.h"
#include "pipeline/testing/pipeline_setup.h"

static void test_fork_inherits(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        struct trace_counts c;
        uint32_t idx;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_alloc(&s->a, 1200000, 0x2000, 50, 2);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1300000, true);
        fake_put_words(&s->a, 1400000, WIRE_FORK_DONE, NULL, 0);
        fake_free(&s->a, 1450000, 0x1000); /* the parent's copy */
        fake_add_thread(&s->t, &child, idx, 201);
        fake_free(&child, 1500000, 0x2000);         /* the child's */
        fake_alloc(&child, 1600000, 0x2000, 10, 2); /* its own */
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 50);
        assert_int_equal(c.n_frees, 1);
        c = counts_of(s, 1);
        assert_int_equal(c.n_allocs, 1);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.alloc_bytes, 10);
        assert_int_equal(c.live_bytes, 110);
        assert_int_equal(c.peak_bytes, 150);
        assert_int_equal(c.n_unknown_frees, 0);

        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(row_of(s, 1, 1)->n_inherited, 1);
        assert_int_equal(row_of(s, 1, 1)->inherited_bytes, 100);
        assert_int_equal(row_of(s, 1, 1)->peak_bytes, 100); /* untouched: live all the time */
        assert_int_equal(row_of(s, 1, 2)->inherited_bytes, 50);
        assert_int_equal(row_of(s, 1, 2)->free_bytes, 50);
        assert_int_equal(row_of(s, 1, 2)->n_inherited_frees, 1);
        assert_int_equal(row_of(s, 1, 2)->inherited_free_bytes, 50);
        assert_int_equal(row_of(s, 1, 2)->peak_bytes, 50);
        assert_int_equal(row_of(s, 1, 2)->alloc_bytes, 10);
        assert_int_equal(s->w->processes.items[1].parent, 0);
}

/* The parent of a daemon is gone, and its entry used again, before the child is seen. */
static void test_daemon(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        struct trace_counts c;
        uint32_t idx;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        fake_alloc(&s->a, 1350000, 0x2000, 7, 1); /* after the fork: not the child's */
        pipeline_end_process(s->t.pipeline, s->idx, 1400000);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_ended, 1);
        assert_int_equal(s->t.ended.counts.live_bytes, 107);
        idx = fake_fork(&s->t, s->idx, 1300000, true);
        assert_int_equal(idx, s->idx);
        fake_add_thread(&s->t, &child, idx, 201);
        fake_free(&child, s->t.now, 0x1000);
        fake_settle(&s->t);
        c = counts_of(s, 1);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.peak_bytes, 100);
        assert_int_equal(c.live_bytes, 0);
        assert_int_equal(s->w->processes.items[1].parent, 0);
}

/* The recorder was put aside between reading the clock and looking for processes: two were forked
 * since. Each starts where it was forked. */
static void test_fork_since_the_clock_was_read(void **state) {
        struct setup *s = *state;
        uint64_t first = s->t.now + 100000, second = s->t.now + 300000;

        fake_alloc(&s->a, s->t.now + 50000, 0x1000, 100, 1);
        fake_put_words(&s->a, first, WIRE_FORK, NULL, 0);
        fake_fork(&s->t, s->idx, first, true);
        fake_put_words(&s->a, first + 1000, WIRE_FORK_DONE, NULL, 0);
        fake_alloc(&s->a, first + 100000, 0x2000, 7, 1); /* not the first child's */
        fake_put_words(&s->a, second, WIRE_FORK, NULL, 0);
        fake_fork(&s->t, s->idx, second, true);
        fake_put_words(&s->a, second + 1000, WIRE_FORK_DONE, NULL, 0);
        fake_alloc(&s->a, second + 100000, 0x3000, 3, 1); /* neither's */
        s->t.next_jump = 600000;
        pipeline_pump(s->t.pipeline);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 100);
        assert_int_equal(counts_of(s, 2).live_bytes, 107);
        assert_true(s->w->processes.items[1].start_ns < s->w->processes.items[2].start_ns);
}

static void test_fork_that_failed(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        fake_put_words(&s->a, 1400000, WIRE_FORK_DONE, NULL, 0);
        fake_free(&s->a, 1500000, 0x1000);
        fake_settle(&s->t);
        for (int i = 0; i < 20; i++)
                fake_settle(&s->t);
        /* the snapshot is dropped, the table is one again */
        fake_alloc(&s->a, s->t.now, 0x1000, 10, 1);
        assert_int_equal(counts_now(s).live_bytes, 10);
        assert_int_equal(s->w->processes.n, 1);
        assert_int_equal(live_layers_bytes(), 0);
}

static void test_raw_clone(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        uint32_t idx;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_settle(&s->t);
        idx = fake_fork(&s->t, s->idx, 1100000, false);
        fake_add_thread(&s->t, &child, idx, 201);
        fake_free(&child, s->t.now, 0x1000);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).n_frees, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 100);
}

/* The recording's own peak: what a process held goes with it, what a child inherited counts once. */
static void test_peak_of_all(void **state) {
        struct setup *s = *state;
        const struct fake_slice *slice;
        struct fake_thread child;
        uint32_t idx;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1300000, true);
        fake_add_thread(&s->t, &child, idx, 201);
        fake_alloc(&child, 1400000, 0x5000, 30, 3);
        fake_settle(&s->t);
        pipeline_end_process(s->t.pipeline, idx, s->t.now);
        fake_settle(&s->t);
        fake_alloc(&s->a, s->t.now, 0x7000, 20, 4); /* 120 in all: below the peak */
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        slice = &s->w->slices.items[s->w->slices.n - 1];
        assert_int_equal(slice->counts.items[slice->counts.n - 1].process, TRACE_NO_PROCESS);
        assert_int_equal(slice->counts.items[slice->counts.n - 1].peak_bytes, 130);
        assert_int_equal(slice->counts.items[slice->counts.n - 1].live_bytes, 120);
        assert_int_equal(row_of(s, 1, 3)->all_peak_bytes, 30);
        assert_int_equal(row_of(s, 0, 4)->all_peak_bytes, 0);
        assert_int_equal(row_of(s, 0, 4)->peak_bytes, 20);
        assert_int_equal(s->t.ended.counts.peak_bytes, 130);
}

/* exec: a new image in a new entry; the old one ends with what it held. */
static void test_exec(void **state) {
        struct setup *s = *state;
        struct fake_thread thread;
        uint32_t idx;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_put_words(&s->a, 1200000, WIRE_EXEC, (uint64_t[]){1}, 1);
        pipeline_end_process(s->t.pipeline, s->idx, 1300000);
        fake_settle(&s->t);
        assert_int_equal(s->t.ended.counts.live_bytes, 100);
        assert_true(s->t.ended.ends_in_exec);
        idx = fake_add_image(&s->t, s->w);
        fake_add_thread(&s->t, &thread, idx, 101);
        fake_alloc(&thread, s->t.now, 0x1000, 1, 1);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 1);
        assert_int_equal(counts_of(s, 1).n_implicit_frees, 0);
        assert_int_equal(s->w->threads.n, 2);
}

/* exec that failed, or that something was heard of after: the process ended as itself. */
static void test_exec_that_failed(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_put_words(&s->a, 1200000, WIRE_EXEC, (uint64_t[]){1}, 1);
        fake_put_words(&s->a, 1210000, WIRE_EXEC, (uint64_t[]){0}, 1);
        fake_put_words(&s->b, 1220000, WIRE_EXEC, (uint64_t[]){1}, 1);
        fake_alloc(&s->b, 1230000, 0x2000, 100, 1);
        pipeline_end_process(s->t.pipeline, s->idx, 1300000);
        fake_settle(&s->t);
        assert_int_equal(s->t.ended.counts.live_bytes, 200);
        assert_false(s->t.ended.ends_in_exec);
}

/* A look at pages that are all untouched; they stay so. */
static void look(struct setup *s, int pagemap_fd) {
        struct residency_budget budget = {10, 1000};

        assert_true(pipeline_wants_look(s->t.pipeline, s->idx, true));
        pipeline_look(s->t.pipeline, s->idx, pagemap_fd, s->t.now, &budget);
        s->t.now += 1000000;
        fake_settle(&s->t);
}

static int untouched_pages(void) {
        int fd = memfd_create("pagemap", MFD_CLOEXEC);

        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        return fd;
}

static void add_range(void *ctx, uint64_t begin, uint64_t end) {
        struct released *r = ctx;

        released_add(r, begin, end);
}

/* What is given back while somebody looks at pages: large blocks and mappings, unless mapped again. */
static void test_released(void **state) {
        struct setup *s = *state;
        struct released seen = {0};

        fake_alloc(&s->a, 1100000, 0x100000, 65535, 1);
        fake_alloc(&s->a, 1110000, 0x200000, 65536, 2);
        fake_alloc(&s->a, 1120000, 0x300000, 70000, 2);
        fake_free(&s->a, 1130000, 0x300000); /* before */
        fake_settle(&s->t);
        pipeline_begin_released(s->t.pipeline, s->idx);
        fake_free(&s->a, s->t.now, 0x100000); /* too small */
        fake_free(&s->a, s->t.now + 1000, 0x200000);
        fake_put_words(&s->a, s->t.now + 2000, WIRE_MUNMAP, (uint64_t[]){0x500000, 0x8000}, 2);
        fake_put_stack(&s->a, s->t.now + 3000, WIRE_MMAP, (uint64_t[]){0x502000, 0x2000, 3}, 3,
                       (uint64_t[]){0x4242}, 1, 0);
        fake_settle(&s->t);
        pipeline_take_released(s->t.pipeline, s->idx, add_range, &seen);
        assert_int_equal(seen.ranges.n, 3);
        assert_int_equal(seen.ranges.items[0].begin, 0x200000);
        assert_int_equal(seen.ranges.items[0].end, 0x210000);
        assert_int_equal(seen.ranges.items[1].begin, 0x500000);
        assert_int_equal(seen.ranges.items[1].end, 0x502000);
        assert_int_equal(seen.ranges.items[2].begin, 0x504000);
        assert_int_equal(seen.ranges.items[2].end, 0x508000);
        vec_clear(&seen.ranges);
        pipeline_take_released(s->t.pipeline, s->idx, add_range, &seen); /* it is over */
        assert_int_equal(seen.ranges.n, 0);
        vec_free(&seen.ranges);
}

/* The last look counts when the process ended as itself, unless the block was released. */
static void test_look(void **state) {
        struct setup *s = *state;
        int fd = untouched_pages();

        assert_false(pipeline_wants_look(s->t.pipeline, s->idx, true));
        fake_alloc(&s->a, 1100000, 0x100000, 65535, 1); /* too small */
        fake_settle(&s->t);
        assert_false(pipeline_wants_look(s->t.pipeline, s->idx, true));
        fake_alloc(&s->a, s->t.now, 0x200000, 65536, 2);
        fake_alloc(&s->a, s->t.now, 0x300000, 70000, 2);
        fake_settle(&s->t);
        look(s, fd);
        assert_true(pipeline_wants_look(s->t.pipeline, s->idx, false)); /* once more, to be sure */
        look(s, fd);
        assert_false(pipeline_wants_look(s->t.pipeline, s->idx, false));
        fake_free(&s->a, s->t.now, 0x300000);
        pipeline_end_process(s->t.pipeline, s->idx, s->t.now);
        fake_settle(&s->t);
        assert_int_equal(s->w->residency.n, 1);
        assert_int_equal(s->w->residency.items[0].seen.n_blocks, 1);
        assert_int_equal(s->w->residency.items[0].seen.bytes, 65536);
        assert_int_equal(s->w->residency.items[0].seen.touched_bytes, 0);
        close(fd);
}

/* Between exec and the new image's hello the pages are not those of the blocks any more. */
static void test_look_before_exec(void **state) {
        struct setup *s = *state;
        int fd = untouched_pages();

        fake_alloc(&s->a, 1100000, 0x200000, 65536, 2);
        fake_put_words(&s->a, 1200000, WIRE_EXEC, (uint64_t[]){1}, 1);
        fake_settle(&s->t);
        look(s, fd);
        look(s, fd);
        pipeline_end_process(s->t.pipeline, s->idx, s->t.now);
        fake_settle(&s->t);
        assert_int_equal(s->w->residency.n, 0);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                TEST(test_fork_inherits),
                TEST(test_fork_since_the_clock_was_read),
                TEST(test_daemon),
                TEST(test_fork_that_failed),
                TEST(test_raw_clone),
                TEST(test_peak_of_all),
                TEST(test_exec),
                TEST(test_exec_that_failed),
                TEST(test_released),
                TEST(test_look),
                TEST(test_look_before_exec),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
