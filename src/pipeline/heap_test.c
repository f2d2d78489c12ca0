/* SPDX-License-Identifier: MIT */
/* Heaps of allocators that are released whole. */
#include "pipeline/testing/pipeline_setup.h"

#include <string.h>

#include "pipeline/heaps.h"

enum { H = 0x77000, G = 0x88000 }; /* numbers of heaps */

static void heap(struct fake_thread *t, uint64_t time, uint64_t id, enum wire_heap what,
                 uint64_t address) {
        fake_put_words(t, time, WIRE_HEAP, (uint64_t[]){id, what, address}, 3);
}

static void alloc_in(struct fake_thread *t, uint64_t time, uint64_t id, uint64_t address,
                     uint64_t size_bytes) {
        heap(t, time, id, WIRE_HEAP_NEXT, address);
        fake_alloc(t, time, address, size_bytes, 1);
}

static void assert_clean(const struct trace_counts *c) {
        assert_int_equal(c->n_unknown_frees + c->n_implicit_frees, 0);
}

/* What is in it and alive goes; what was released before, or is elsewhere, does not. */
static void test_release(void **state) {
        struct setup *s = *state;
        struct trace_counts c;
        uint64_t time = 1100000;

        for (uint64_t i = 0; i < 200; i++)
                alloc_in(&s->a, time++, i % 2 ? H : G, 0x1000 + i * 64, 10);
        fake_alloc(&s->a, time++, 0x90000, 7, 2);
        fake_free(&s->b, time++, 0x1000 + 64);
        heap(&s->b, time++, H, WIRE_HEAP_BEGIN, 0);
        heap(&s->b, time++, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 1007);
        assert_int_equal(c.n_frees, 100);
        heap(&s->b, s->t.now, H, WIRE_HEAP_RELEASED, 0); /* empty by now */
        heap(&s->b, s->t.now, 0x99000, WIRE_HEAP_RELEASED, 0);
        assert_int_equal(counts_now(s).n_frees, 100);
        alloc_in(&s->a, s->t.now, H, 0x1000 + 64, 5); /* it goes on */
        heap(&s->a, s->t.now, H, WIRE_HEAP_RELEASED, 0);
        heap(&s->a, s->t.now, G, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 7);
        assert_int_equal(c.n_frees, 201);
        assert_clean(&c);
        assert_int_equal(c.n_inversions, 0);
}

/* An address that another heap, or nobody's, has by now is no longer the first heap's. */
static void test_address_elsewhere(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        alloc_in(&s->a, 1100000, H, 0x1000, 10);
        alloc_in(&s->a, 1100001, H, 0x2000, 20);
        fake_free(&s->a, 1100002, 0x1000);
        fake_free(&s->a, 1100003, 0x2000);
        fake_alloc(&s->b, 1200000, 0x1000, 100, 1);
        alloc_in(&s->b, 1200001, G, 0x2000, 200);
        heap(&s->a, 1300000, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 300);
        heap(&s->a, s->t.now, G, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 100);
        assert_clean(&c);
}

/* In place a block stays in its heap; elsewhere it is where it is said to be. */
static void test_resized(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        for (uint64_t i = 0; i < 3; i++) {
                alloc_in(&s->a, 1100000 + i, H, 0x1000 + i * 0x100, 10);
                fake_realloc_begin(&s->a, 1100100 + i, 0x1000 + i * 0x100);
                if (i == 2)
                        heap(&s->a, 1100200, G, WIRE_HEAP_NEXT, 0x5200);
                fake_realloc_end(&s->a, 1100200 + i, i == 0 ? 0x1000 : 0x5000 + i * 0x100, 20 + i,
                                 WIRE_REALLOC_OK, 1);
        }
        heap(&s->a, 1300000, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 21 + 22);
        assert_int_equal(c.n_frees, 3 + 1);
        heap(&s->a, s->t.now, G, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 21);
        assert_clean(&c);
}

/* Handed over, or begun and not done: nothing is released, and later releases of the id have nothing of it. */
static void test_kept(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        alloc_in(&s->a, 1100000, H, 0x1000, 10);
        heap(&s->a, 1100001, H, WIRE_HEAP_KEPT, 0);
        alloc_in(&s->a, 1100002, H, 0x2000, 20);
        heap(&s->a, 1100003, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 10);
        assert_clean(&c);
}

/* Who makes the next heap may be given the same id before the release is over; one that fails changes nothing. */
static void test_id_meanwhile(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        alloc_in(&s->a, 1100000, H, 0x1000, 10);
        heap(&s->a, 1200000, H, WIRE_HEAP_BEGIN, 0);
        heap(&s->b, 1200001, H, WIRE_HEAP_KEPT, 0);
        alloc_in(&s->b, 1200002, H, 0x2000, 20);
        heap(&s->a, 1200003, H, WIRE_HEAP_RELEASED, 0);
        assert_int_equal(counts_now(s).live_bytes, 20);
        heap(&s->a, s->t.now, H, WIRE_HEAP_BEGIN, 0);
        alloc_in(&s->b, s->t.now, H, 0x3000, 30);
        heap(&s->a, s->t.now, H, WIRE_HEAP_FAILED, 0);
        assert_int_equal(counts_now(s).live_bytes, 50);
        heap(&s->a, s->t.now, H, WIRE_HEAP_BEGIN, 0);
        heap(&s->a, s->t.now, H, WIRE_HEAP_FAILED, 0);
        heap(&s->a, s->t.now, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 0);
        assert_clean(&c);
}

/* The record of a heap itself, whose allocation nobody saw. */
static void test_record(void **state) {
        struct setup *s = *state;

        heap(&s->a, 1100000, H, WIRE_HEAP_KEPT, H);
        heap(&s->a, 1100001, H, WIRE_HEAP_BEGIN, 0);
        fake_free(&s->a, 1100002, H);
        heap(&s->a, 1100003, H, WIRE_HEAP_RELEASED, 0);
        assert_int_equal(counts_now(s).n_unknown_frees, 0);
        fake_free(&s->a, s->t.now, H); /* once */
        assert_int_equal(counts_now(s).n_unknown_frees, 1);
        heap(&s->a, s->t.now, H, WIRE_HEAP_KEPT, H);
        fake_alloc(&s->a, s->t.now, H, 10, 1);
        fake_free(&s->a, s->t.now, H);
        assert_int_equal(counts_now(s).live_blocks, 0);
}

/* A handler's allocations may come between a block and what was said of it; a block that never comes is forgotten. */
static void test_between(void **state) {
        struct setup *s = *state;

        heap(&s->a, 1100000, H, WIRE_HEAP_NEXT, 0x1000);
        fake_alloc(&s->a, 1100001, 0x9000, 1, 1);
        fake_alloc(&s->a, 1100002, 0x1000, 10, 1);
        heap(&s->a, 1100003, H, WIRE_HEAP_NEXT, 0x2000);
        for (uint64_t i = 0; i < 8; i++)
                fake_alloc(&s->a, 1100010 + i, 0xa000 + i * 16, 1, 1);
        fake_alloc(&s->a, 1100030, 0x2000, 100, 1);
        heap(&s->a, 1100040, H, WIRE_HEAP_RELEASED, 0);
        assert_int_equal(counts_now(s).live_bytes, 1 + 8 + 100);
}

/* Another thread is given an address before the release is over, or by its clock before it has begun. */
static void test_given_meanwhile(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        alloc_in(&s->a, 1100000, H, 0x1000, 10);
        alloc_in(&s->a, 1100001, H, 0x2000, 20);
        alloc_in(&s->a, 1100002, H, 0x3000, 30);
        fake_alloc(&s->b, 1299990, 0x1000, 100, 1);
        heap(&s->a, 1300000, H, WIRE_HEAP_BEGIN, 0);
        fake_alloc(&s->b, 1300001, 0x2000, 200, 1);
        heap(&s->a, 2300000, H, WIRE_HEAP_RELEASED, 0);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 300);
        assert_int_equal(c.n_frees, 3);
        assert_clean(&c);
        assert_int_equal(c.n_inversions, 1);
}

/* An allocation waits for a release that another thread logs late, and its heap goes meanwhile. */
static void test_released_while_waiting(void **state) {
        struct setup *s = *state;
        struct trace_counts c;

        fake_alloc(&s->b, 1100000, 0x1000, 10, 1);
        alloc_in(&s->a, 1200000, H, 0x1000, 20);
        heap(&s->a, 1200002, H, WIRE_HEAP_RELEASED, 0);
        fake_free(&s->b, 1200010, 0x1000);
        c = counts_now(s);
        assert_int_equal(c.live_bytes, 0);
        assert_int_equal(c.n_frees, 2);
        assert_clean(&c);
        alloc_in(&s->a, s->t.now, H, 0x1000, 20); /* the id can be used again */
        heap(&s->a, s->t.now, H, WIRE_HEAP_RELEASED, 0);
        assert_int_equal(counts_now(s).n_frees, 3);
}

static void test_fork(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        uint32_t idx;

        alloc_in(&s->a, 1100000, H, 0x1000, 100);
        alloc_in(&s->a, 1100001, G, 0x3000, 1);
        fake_put_words(&s->a, 1300000, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1300000, true);
        fake_add_thread(&s->t, &child, idx, 201);
        heap(&child, 1400000, H, WIRE_HEAP_RELEASED, 0);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 101);
        heap(&s->a, s->t.now, G, WIRE_HEAP_RELEASED, 0);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 1).live_bytes, 1);
        assert_int_equal(counts_of(s, 0).live_bytes, 100);
}

/* One record releases more than fits a slice; a million blocks that come and go do not pile up. */
static void test_many(void **state) {
        enum { N = TRACE_MAX_SLICE_EVENTS + 5000, N_COMING = 300000 };
        struct setup *s = *state;
        uint64_t time = 1100000;
        struct trace_counts c;

        for (uint64_t i = 0; i < N; i++)
                alloc_in(&s->a, time++, H, 0x100000 + i * 16, 8);
        heap(&s->a, time++, H, WIRE_HEAP_RELEASED, 0);
        for (uint64_t i = 0; i < N_COMING; i++) {
                alloc_in(&s->a, time++, G + i % 3, 0x10000000 + i * 16, 8);
                fake_free(&s->a, time++, 0x10000000 + i * 16);
        }
        alloc_in(&s->a, time++, G, 0x100000, 5);
        heap(&s->a, time++, G, WIRE_HEAP_RELEASED, 0);
        s->t.now = time;
        c = counts_now(s);
        assert_int_equal(c.live_blocks, 0);
        assert_int_equal(c.n_frees, N + N_COMING + 1);
        assert_clean(&c);
        assert_int_equal(s->t.n_broken, 0);
}

static bool is_odd(void *ctx, uint64_t address, uint64_t seq) {
        (void)ctx;
        return address / 16 % 2 && seq;
}

static void count(void *ctx, uint64_t address, uint64_t seq) {
        (void)address, (void)seq;
        ++*(size_t *)ctx;
}

static void test_sweep(void **state) {
        struct heaps *h = heaps_new(), *copy;
        size_t n = 0, n_copied = 0;
        uint64_t i = 0;

        (void)state;
        for (; !heaps_wants_sweep(h); i++)
                heaps_add(h, heaps_open(h, i % 5), i * 16, i + 1);
        assert_in_range(i, HEAPS_MIN_SWEEP - 5, HEAPS_MIN_SWEEP);
        heaps_sweep(h, is_odd, NULL);
        assert_false(heaps_wants_sweep(h));
        assert_int_equal(h->blocks.n, i / 2);
        assert_int_equal(heaps_of(h, 16, 2), heaps_find(h, 1));
        assert_int_equal(heaps_of(h, 16, 3), 0);
        assert_int_equal(heaps_of(h, 32, 3), 0);
        copy = heaps_copy(h);
        heaps_empty(h, heaps_find(h, 1), count, &n);
        heaps_empty(copy, heaps_find(copy, 1), count, &n_copied);
        assert_in_range(n, i / 10 - 1, i / 10 + 1);
        assert_int_equal(n, n_copied);
        heaps_close(h, heaps_find(h, 1), HEAPS_KEPT);
        assert_int_equal(heaps_find(h, 1), 0);
        heaps_free(h);
        heaps_free(copy);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_release, setup, teardown),
                cmocka_unit_test_setup_teardown(test_address_elsewhere, setup, teardown),
                cmocka_unit_test_setup_teardown(test_resized, setup, teardown),
                cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(test_id_meanwhile, setup, teardown),
                cmocka_unit_test_setup_teardown(test_record, setup, teardown),
                cmocka_unit_test_setup_teardown(test_between, setup, teardown),
                cmocka_unit_test_setup_teardown(test_given_meanwhile, setup, teardown),
                cmocka_unit_test_setup_teardown(test_released_while_waiting, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test(test_sweep),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
