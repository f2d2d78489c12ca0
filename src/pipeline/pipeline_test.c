/* SPDX-License-Identifier: MIT */
/* The pipeline on interleavings written down by hand, with every figure known. */
#include "ledger/live.h"
#include "pipeline/testing/pipeline_setup.h"
#include "trace/fail_note.h"

/* ---- one process -------------------------------------------------------------------------------- */

static void test_counts_and_peak(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 100, 1);
        fake_alloc(&s->a, 1200000, 0x2000, 50, 2);
        fake_free(&s->a, 1300000, 0x1000);
        fake_alloc(&s->a, 1400000, 0x1000, 30, 1);
        c = counts_now(s);
        assert_int_equal(c.n_allocs, 3);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.alloc_bytes, 180);
        assert_int_equal(c.live_bytes, 80);
        assert_int_equal(c.live_blocks, 2);
        assert_int_equal(c.peak_bytes, 150);
        assert_int_equal(c.peak_blocks, 2);
        assert_int_equal(c.peak_ns, 1200000);
        assert_int_equal(c.n_temporary, 0);
        assert_int_equal(c.n_complete_stacks, 3);

        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(row_of(s, 0, 1)->peak_bytes, 100);
        assert_int_equal(row_of(s, 0, 2)->peak_bytes, 50);
        assert_int_equal(row_of(s, 0, 1)->n_allocs, 2);
        assert_int_equal(row_of(s, 0, 1)->free_bytes, 100);

        /* the next slice's peak is its starting value */
        fake_free(&s->a, s->t.now, 0x2000);
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(s->w->slices.items[1].counts.items[0].peak_bytes, 80);
        assert_int_equal(row_of(s, 0, 2)->peak_bytes, 0);
        assert_null(row_of(s, 0, 1));
}

static void test_temporary_is_per_thread(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1200000, 0x2000, 10, 1); /* another thread's allocation does not count */
        fake_free(&s->a, 1300000, 0x1000);         /* temporary */
        fake_free(&s->a, 1400000, 0x2000);         /* released by another thread */
        fake_alloc(&s->a, 1500000, 0x3000, 10, 1);
        fake_alloc(&s->a, 1600000, 0x4000, 10, 1);
        fake_free(&s->a, 1700000, 0x3000); /* another allocation in between */
        fake_free(&s->a, 1800000, 0x4000); /* temporary: a release in between does not matter */
        c = counts_now(s);
        assert_int_equal(c.n_temporary, 2);
}

static void test_nested_slot_is_the_same_thread(void **state) {
        struct setup *s = *state;
        struct fake_thread nested;

        fake_add_thread(&s->t, &nested, s->idx, 101);
        nested.slot->flags = WIRE_SLOT_NESTED;
        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_alloc(&nested, 1200000, 0x2000, 10, 1);
        fake_free(&s->a, 1300000, 0x1000); /* the handler allocated in between */
        fake_free(&s->a, 1400000, 0x2000); /* temporary: the same thread's latest */
        assert_int_equal(counts_now(s).n_temporary, 1);
        assert_int_equal(s->w->threads.n, 1);
}

static void test_realloc_forms(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_realloc_begin(&s->a, 1200000, 0x1000);
        fake_realloc_end(&s->a, 1300000, 0x2000, 30, WIRE_REALLOC_OK,
                         2); /* moved, at once: temporary */
        fake_realloc_begin(&s->a, 1400000, 0x2000);
        fake_realloc_end(&s->a, 1500000, 0x2000, 20, WIRE_REALLOC_OK, 3); /* in place */
        fake_realloc_begin(&s->a, 1600000, 0x2000);
        fake_realloc_end(&s->a, 1700000, 0, 1ull << 60, WIRE_REALLOC_FAILED, 3);
        c = counts_now(s);
        assert_int_equal(c.n_allocs, 3);
        assert_int_equal(c.n_frees, 2);
        assert_int_equal(c.n_reallocs, 2);
        assert_int_equal(c.n_failed, 1);
        assert_int_equal(c.n_temporary, 2);
        assert_int_equal(c.live_bytes, 20);
        assert_int_equal(c.peak_bytes, 30);

        s->t.now += 100000;
        fake_realloc_begin(&s->a, s->t.now, 0x2000);
        fake_realloc_end(&s->a, s->t.now + 10, 0, 0, WIRE_REALLOC_RELEASED, 3);
        c = counts_now(s);
        assert_int_equal(c.n_frees, 3);
        assert_int_equal(c.n_reallocs, 2);
        assert_int_equal(c.live_blocks, 0);
}

static void test_realloc_of_unknown(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_realloc_begin(&s->a, 1200000, 0x1000);
        fake_realloc_end(&s->a, 1300000, 0x1000, 30, WIRE_REALLOC_OK, 2);
        c = counts_now(s);
        assert_int_equal(c.n_unknown_frees, 1);
        assert_int_equal(c.n_allocs, 1);
        assert_int_equal(c.n_frees, 0);
        assert_int_equal(c.n_reallocs, 0);
        assert_int_equal(c.live_bytes, 30);
}

static void test_realloc_while_another_takes_the_old_address(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_realloc_begin(&s->a, 1200000, 0x1000);
        fake_alloc(&s->b, 1300000, 0x1000, 5, 2); /* the old block is gone by now */
        fake_free(&s->b, 1400000, 0x1000);
        fake_alloc(&s->b, 1500000, 0x1000, 7, 2);
        fake_realloc_end(&s->a, 1600000, 0x3000, 40, WIRE_REALLOC_OK, 1);
        c = counts_now(s);
        assert_int_equal(c.n_allocs, 4);
        assert_int_equal(c.n_frees, 2);
        assert_int_equal(c.n_reallocs, 1);
        assert_int_equal(c.n_implicit_frees, 0);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_int_equal(c.live_bytes, 47);
        assert_int_equal(c.n_temporary, 2);
}

static void test_realloc_while_another_realloc_takes_the_old_address(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_alloc(&s->b, 1110000, 0x2000, 20, 2);
        fake_realloc_begin(&s->a, 1200000, 0x1000);
        fake_realloc_begin(&s->b, 1210000, 0x2000);
        fake_realloc_end(&s->b, 1300000, 0x1000, 25, WIRE_REALLOC_OK, 2); /* where a's block was */
        fake_free(&s->b, 1400000, 0x1000);
        fake_realloc_end(&s->a, 1600000, 0x3000, 40, WIRE_REALLOC_OK, 1);
        c = counts_now(s);
        assert_int_equal(c.n_allocs, 4);
        assert_int_equal(c.n_frees, 3);
        assert_int_equal(c.n_reallocs, 2);
        assert_int_equal(c.n_implicit_frees + c.n_unknown_frees, 0);
        assert_int_equal(c.live_bytes, 40);
}

static void test_killed_in_realloc_keeps_the_block(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_realloc_begin(&s->a, 1200000, 0x1000);
        pipeline_end_process(s->t.pipeline, s->idx, 2000000);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_ended, 1);
        assert_int_equal(s->t.ended.counts.live_bytes, 10);
}

static void test_unknown_failed_wrong_size(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_free(&s->a, 1100000, 0x9000);
        fake_alloc(&s->a, 1200000, 0x1000, 10, 1);
        fake_put_words(&s->a, 1300000, WIRE_FREE_SIZED, (uint64_t[]){0x1000, 12}, 2);
        fake_alloc(&s->a, 1400000, 0x1000, 10, 1);
        fake_put_words(&s->a, 1500000, WIRE_FREE_SIZED, (uint64_t[]){0x1000, 10}, 2);
        fake_put_words(&s->a, 1600000, WIRE_FAILED, (uint64_t[]){1ull << 62}, 1);
        c = counts_now(s);
        assert_int_equal(c.n_unknown_frees, 1);
        assert_int_equal(c.n_wrong_sizes, 1);
        assert_int_equal(c.n_failed, 1);
        assert_int_equal(c.n_frees, 2);
        assert_int_equal(count_others(s, TRACE_UNKNOWN_FREE), 1);
        assert_int_equal(count_others(s, TRACE_WRONG_SIZE), 1);
        assert_int_equal(count_others(s, TRACE_FAILED), 1);
}

/* A note with its stack; it counts nothing, and what follows it is as ever. */
static void test_made_to_fail(void **state) {
        struct setup *s = *state;
        uint64_t pcs[2] = {0x7777, 0x5000};
        struct trace_fail f;
        struct trace_counts c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_realloc_begin(&s->a, 1200000, 0x1000);
        fake_put_stack(&s->a, 1300000, WIRE_FAIL, (uint64_t[]){17, 4096}, 2, pcs, 2, 0);
        fake_put_stack(&s->a, 1400000, WIRE_REALLOC_END, (uint64_t[]){0, 4096, WIRE_REALLOC_FAILED},
                       3, pcs, 2, 0);
        fake_free(&s->a, 1500000, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.n_failed, 1);
        assert_int_equal(c.n_frees, 1);
        assert_int_equal(c.n_unknown_frees, 0);
        assert_true(trace_fail_parse(s->w->last_note, &f));
        assert_int_equal(f.number, 17);
        assert_int_equal(f.size_bytes, 4096);
        assert_int_equal(s->w->locations.items[s->w->stacks.items[f.stack].location].offset,
                         0x7777);
        assert_false(trace_fail_parse("pid 12: silt did nothing", &f));
        assert_false(trace_fail_parse("mark 12: pid 12: silt made allocation 1", &f));

        for (uint64_t i = 0; i < 3000; i++) /* a bound for what a program may say */
                fake_put_stack(&s->a, 1600000 + i, WIRE_FAIL, (uint64_t[]){i, i}, 2, pcs, 2, 0);
        fake_settle(&s->t);
        assert_int_equal(s->w->n_notes, 1000);
}

static void test_free_stacks(void **state) {
        struct setup *s = *state;
        uint64_t pcs[2] = {0x7777, 0x5000};

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        fake_put_stack(&s->a, 1200000, WIRE_FREE_STACK, (uint64_t[]){0x1000, WIRE_NO_SIZE}, 2, pcs,
                       2, 0);
        fake_settle(&s->t);
        assert_int_equal(s->w->events.n, 2);
        assert_int_equal(s->w->events.items[1].op, TRACE_FREE);
        assert_int_equal(
                s->w->locations.items[s->w->stacks.items[s->w->events.items[1].free_stack].location]
                        .offset,
                0x7777);
        assert_int_equal(s->w->events.items[1].stack, s->w->events.items[0].stack);
        assert_int_equal(counts_now(s).n_wrong_sizes, 0);
}

/* ---- slots -------------------------------------------------------------------------------------- */

static void test_slot_is_used_again(void **state) {
        struct setup *s = *state;
        uint64_t old_state = atomic_load(&s->a.slot->state);
        struct fake_thread c;

        fake_alloc(&s->a, 1100000, 0x1000, 10, 1);
        s->t.dead_tid = 101;
        s->t.now += 100000000;
        pipeline_pump(s->t.pipeline);
        /* not dead enough: it never said so, and only just wrote */
        assert_int_equal(atomic_load(&s->a.slot->state), old_state);
        atomic_store(&s->a.slot->state, (old_state & ~0xffull) | WIRE_SLOT_EXITING);
        fake_free(&s->a, s->t.now, 0x1000); /* destructors */
        fake_settle(&s->t);
        fake_settle(&s->t);
        assert_int_equal(wire_slot_phase(atomic_load(&s->a.slot->state)), WIRE_SLOT_FREE);
        assert_int_not_equal(atomic_load(&s->a.slot->state) >> 40, old_state >> 40);
        assert_int_equal(atomic_load(&s->a.slot->limit_pos), WIRE_CHUNK_BYTES);
        assert_int_equal(counts_of(s, 0).n_frees, 1);

        s->t.dead_tid = 0;
        fake_add_thread(&s->t, &c, s->idx, 101); /* the same number, another thread */
        assert_ptr_equal(c.slot, s->a.slot);
        fake_alloc(&c, s->t.now, 0x1000, 10, 1);
        assert_int_equal(counts_now(s).n_allocs, 2);
        assert_int_equal(s->w->threads.n, 2);
}

static void test_hot_rings_grow(void **state) {
        struct setup *s = *state;
        struct pipeline_stats before, after;

        pipeline_pump(s->t.pipeline);
        pipeline_get_stats(s->t.pipeline, &before);
        for (int i = 0; i < 200000; i++) {
                s->t.now += 50;
                fake_alloc(&s->a, s->t.now, 0x1000, 10, (uint64_t)i % 10);
                fake_free(&s->a, s->t.now + 10, 0x1000);
        }
        pipeline_get_stats(s->t.pipeline, &after);
        assert_int_equal(after.lent_bytes - before.lent_bytes,
                         (WIRE_N_LENT - 1) * WIRE_CHUNK_BYTES);
        assert_int_equal(counts_now(s).n_allocs, 200000);
        assert_int_equal(counts_of(s, 0).n_temporary, 200000);
        assert_true(s->w->slices.n >= 1); /* a full slice ends by itself */
}

static void test_thread_name_and_mapping(void **state) {
        struct setup *s = *state;
        uint64_t pcs[1] = {0x4242};
        char name[16] = "worker";
        uint64_t words[2];

        memcpy(words, name, 16);
        fake_put_words(&s->a, 1100000, WIRE_THREAD_NAME, words, 2);
        fake_put_stack(&s->a, 1200000, WIRE_MMAP, (uint64_t[]){0x7000, 4096, 3ull | 0x22ull << 32},
                       3, pcs, 1, 0);
        fake_put_stack(&s->a, 1300000, WIRE_BRK, (uint64_t[]){0x100, 0x80}, 2, pcs, 1, 0);
        fake_settle(&s->t);
        assert_string_equal(s->w->last_name, "worker");
        assert_int_equal(s->w->mappings.n, 2);
        assert_int_equal(s->w->mappings.items[0].prot, 3);
        assert_int_equal(s->w->mappings.items[0].flags, 0x22);
        assert_int_equal((int64_t)s->w->mappings.items[1].size_bytes, -0x80);
}

/* ---- modules ------------------------------------------------------------------------------------ */

static void put_module(struct fake_thread *t, uint64_t time, uint64_t begin, uint64_t end,
                       const char *name) {
        uint64_t words[4 + 4] = {begin, begin, end, strlen(name)};

        strncpy((char *)&words[4], name, 32);
        fake_put_words(t, time, WIRE_MODULE, words, 4 + (strlen(name) + 7) / 8);
}

static const struct trace_location *location_of_event(struct setup *s, size_t event) {
        return &s->w->locations.items[s->w->stacks.items[s->w->events.items[event].stack].location];
}

static void test_modules(void **state) {
        struct setup *s = *state;

        put_module(&s->a, 1100000, 0x10000, 0x20000, "liba.so");
        fake_alloc(&s->a, 1200000, 0x1000, 1, 0x40);
        fake_alloc(&s->b, 1300000, 0x2000, 1, 0x40); /* known from the other thread */
        put_module(&s->b, 1400000, 0x10000, 0x18000,
                   "libb.so"); /* another file at the same place */
        fake_alloc(&s->a, 1500000, 0x3000, 1, 0x40);
        fake_alloc(&s->a, 1510000, 0x5000, 1, 0x40);
        s->a.depth = 0; /* a walk from scratch meets the new module */
        fake_alloc(&s->a, 1520000, 0x6000, 1, 0x40);
        put_module(&s->a, 1600000, 0x40000, 0x50000, "liba.so"); /* the same file elsewhere */
        fake_alloc(&s->a, 1700000, 0x4000, 1, 0x30040);
        fake_settle(&s->t);
        assert_int_equal(s->w->modules.n, 2); /* one for a file, wherever it lies */
        assert_int_equal(location_of_event(s, 0)->module, 0);
        assert_int_equal(location_of_event(s, 0)->offset, 0x40);
        assert_int_equal(s->w->events.items[1].stack, s->w->events.items[0].stack);
        assert_int_equal(location_of_event(s, 4)->module, 1);
        assert_int_equal(location_of_event(s, 4)->offset, 0x40);
        assert_int_equal(location_of_event(s, 5)->module, 0);
        assert_int_equal(location_of_event(s, 5)->offset, 0x40);
}

static void test_omitted_frames(void **state) {
        struct setup *s = *state;
        uint64_t pcs[3] = {0x7000, 1, 0x5000};

        fake_put_stack(&s->a, 1100000, WIRE_ALLOC, (uint64_t[]){0x1000, 1}, 2, pcs, 3,
                       WIRE_END_CUT);
        assert_int_equal(counts_now(s).n_complete_stacks, 0);
        assert_int_equal(s->w->locations.items[1].module, UINT32_MAX);
        assert_int_equal(s->w->locations.items[1].offset, 1);
}

/* ---- hostile rings ------------------------------------------------------------------------------ */

static void expect_broken(struct setup *s, const char *name) {
        struct trace_counts c;

        (void)name;
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
        c = counts_of(s, 0);
        assert_true(c.n_lost > 0);
        /* the other thread goes on */
        fake_alloc(&s->b, s->t.now, 0x8000, 10, 1);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 0).n_allocs, c.n_allocs + 1);
}

static void test_bad_kind(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1000100, 0x9000, 1, 1);
        fake_put_words(&s->a, 1100000, 77, NULL, 0);
        expect_broken(s, "kind");
}

static void test_bad_position(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1000100, 0x9000, 1, 1);
        fake_alloc(&s->a, 1000200, 0xa000, 1, 1);
        atomic_store(&s->a.slot->write_pos, UINT64_MAX - 7);
        expect_broken(s, "position");
}

static void test_bad_kept(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1000100, 0x9000, 1, 1);
        fake_put_words(&s->a, 1100000, WIRE_ALLOC,
                       (uint64_t[]){0x1000, 1, wire_stack_word(3, 0, 0, 0)}, 3);
        expect_broken(s, "kept");
}

/* 0 is no block, though places without one have that address. */
static void expect_no_release(struct setup *s, unsigned kind, const uint64_t *values, uint32_t n) {
        fake_alloc(&s->a, 1000100, 0x1010, 10, 1); /* in no place where 0 would be */
        fake_alloc(&s->a, 1000200, 0x2000, 10, 1); /* there, */
        fake_free(&s->a, 1000300, 0x2000);         /* and gone */
        fake_put_words(&s->a, 1000400, kind, values, n);
        fake_alloc(&s->b, 1000500, 0x9010, 10, 1);
        expect_broken(s, "release");
        assert_int_equal(counts_of(s, 0).n_frees, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 30);
}

static void test_bad_release(void **state) {
        expect_no_release(*state, WIRE_FREE, (uint64_t[]){0}, 1);
}

static void test_bad_sized_release(void **state) {
        expect_no_release(*state, WIRE_FREE_SIZED, (uint64_t[]){0, 10}, 2);
}

static void test_bad_process(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1000100, 0x9000, 1, 1);
        fake_settle(&s->t);
        fake_add_thread(&s->t, &s->a, 500, 7);
        fake_alloc(&s->a, s->t.now, 0x1000, 1, 1);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
        assert_int_equal(counts_of(s, 0).n_allocs, 1);
}

static void test_bad_time_and_size(void **state) {
        struct setup *s = *state;

        fake_alloc(&s->b, 1000100, 0x9000, 1, 1);
        fake_alloc(&s->a, 1ull << 50, 0x1000, 1, 1);
        expect_broken(s, "time");
        fake_alloc(&s->b, s->t.now, 0xb000, 1ull << 50, 1);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 2);
}

/* Stopped for 10 s in the middle of a pump: what threads wrote meanwhile is later than the time the pump began at. */
static void test_recorder_held_up(void **state) {
        struct setup *s = *state;

        fake_settle(&s->t);
        fake_alloc(&s->a, s->t.now + 9 * (uint64_t)FAKE_HZ, 0x1000, 10, 1);
        s->t.next_jump = 10 * (uint64_t)FAKE_HZ;
        pipeline_pump(s->t.pipeline);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 0);
        assert_int_equal(counts_of(s, 0).n_allocs, 1);
        assert_int_equal(counts_of(s, 0).n_lost, 0);
}

/* Which of the lifetime's buckets took the release of site's block in the latest slice; -1 none. */
static int life_bucket(struct setup *s, uint64_t site) {
        const struct trace_site *row = row_of(s, 0, site);

        for (int i = 0; row && i < TRACE_N_LIFE_BUCKETS; i++)
                if (row->n_life[i])
                        return i;
        return -1;
}

/* The time of a block comes round after 2^24 µs: whatever happened meanwhile, one that old is not young. */
static void test_ages_do_not_wrap(void **state) {
        const uint64_t round_ns = (1ull << 24) * 1000, step_ns = round_ns / 13;
        struct setup *s = *state;
        uint64_t begin = 1100000, end = begin + round_ns + 2000;

        fake_alloc(&s->a, begin, 0x1000, 10, 1);
        fake_alloc(&s->a, begin + 1, 0x2000, 10, 2);
        for (uint64_t at = begin + step_ns; at < begin + round_ns; at += step_ns / 2) {
                fake_alloc(&s->b, at, 0x9000, 10, 9);
                fake_free(&s->b, at + 1000, 0x9000);
        }
        fake_alloc(&s->a, end - 3000, 0x3000, 10, 3);
        fake_free(&s->a, end, 0x1000);
        fake_free(&s->a, end, 0x3000);
        s->t.now = end + 1000000;
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(life_bucket(s, 1), TRACE_N_LIFE_BUCKETS - 1);
        assert_int_equal(life_bucket(s, 3), 0); /* 3 µs */

        end = begin + 3 * round_ns + 1000; /* nothing came for long */
        fake_free(&s->a, end, 0x2000);
        s->t.now = end + 1000000;
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(life_bucket(s, 2), TRACE_N_LIFE_BUCKETS - 1);

        fake_alloc(&s->a, end + 2000000000, 0x4000, 10, 4); /* ages go on from there */
        fake_free(&s->a, end + 2000500000, 0x4000);
        s->t.now = end + 2002000000;
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(life_bucket(s, 4), 4); /* 500 µs */
}

/* On both sides of every border between buckets, whatever eras begin meanwhile. */
static void test_ages_are_right(void **state) {
        struct setup *s = *state;
        uint64_t at = 1100000, want[TRACE_N_LIFE_BUCKETS] = {0}, got[TRACE_N_LIFE_BUCKETS] = {0};

        for (unsigned round = 0; round < 8; round++)
                for (unsigned b = 0; b < TRACE_N_LIFE_BUCKETS + 2; b++)
                        for (unsigned side = 0; side < 2; side++) {
                                uint64_t age_us = (4ull << 2 * b) + (side ? 2 : (uint64_t)-2);

                                fake_alloc(&s->a, at, 0x1000, 10, 1);
                                fake_alloc(&s->b, at + 500, 0x9000, 10, 9);
                                fake_free(&s->b, at + 600, 0x9000);
                                at += age_us * 1000;
                                fake_free(&s->a, at, 0x1000);
                                want[MIN(b + side, (unsigned)TRACE_N_LIFE_BUCKETS - 1)]++;
                                at += 777000 + round * 123456789;
                                s->t.now = at;
                                fake_settle(&s->t);
                        }
        pipeline_end_slice(s->t.pipeline, s->t.now, true);
        for (size_t i = 0; i < s->w->slices.n; i++)
                for (size_t k = 0; k < s->w->slices.items[i].sites.n; k++) {
                        const struct trace_site *row = &s->w->slices.items[i].sites.items[k];

                        for (unsigned b = 0; b < TRACE_N_LIFE_BUCKETS; b++)
                                got[b] += row->n_life[b];
                }
        want[0] += 8 * 2 * (TRACE_N_LIFE_BUCKETS + 2); /* the other thread's */
        for (unsigned b = 0; b < TRACE_N_LIFE_BUCKETS; b++)
                assert_int_equal(got[b], want[b]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                TEST(test_counts_and_peak),
                TEST(test_ages_are_right),
                TEST(test_temporary_is_per_thread),
                TEST(test_nested_slot_is_the_same_thread),
                TEST(test_realloc_forms),
                TEST(test_realloc_of_unknown),
                TEST(test_realloc_while_another_takes_the_old_address),
                TEST(test_realloc_while_another_realloc_takes_the_old_address),
                TEST(test_killed_in_realloc_keeps_the_block),
                TEST(test_unknown_failed_wrong_size),
                TEST(test_made_to_fail),
                TEST(test_free_stacks),
                TEST(test_slot_is_used_again),
                TEST(test_hot_rings_grow),
                TEST(test_thread_name_and_mapping),
                TEST(test_modules),
                TEST(test_omitted_frames),
                TEST(test_bad_kind),
                TEST(test_bad_position),
                TEST(test_bad_kept),
                TEST(test_bad_release),
                TEST(test_bad_sized_release),
                TEST(test_bad_process),
                TEST(test_bad_time_and_size),
                TEST(test_recorder_held_up),
                TEST(test_ages_do_not_wrap),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
