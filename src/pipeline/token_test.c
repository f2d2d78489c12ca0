/* SPDX-License-Identifier: MIT */
/* Stacks that are named by tokens (docs/ring-protocol.md): what they stand for, for how long, and what breaks a ring. */
#include "pipeline/testing/pipeline_setup.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static uint64_t token_bits(uint64_t token) {
        return token << WIRE_TOKEN_SHIFT;
}

/* An ALLOC whose stack, that of a site's number as fake_alloc has it, is given a token. */
static void give(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t site,
                 uint64_t token, unsigned end) {
        fake_put_words(t, time, WIRE_ALLOC,
                       (uint64_t[]){address, 10,
                                    wire_stack_word(0, 2, WIRE_FORM_MALLOC, end) |
                                            token_bits(token),
                                    0x10000 + site, 0x5000},
                       5);
}

static void use(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                uint64_t token) {
        fake_put_words(t, time, WIRE_ALLOC_KNOWN,
                       (uint64_t[]){address, size_bytes | token_bits(token)}, 2);
}

static uint64_t known(uint64_t token) {
        return wire_stack_word(0, WIRE_KNOWN, WIRE_FORM_MALLOC, 0) | token_bits(token);
}

static void end_slice(struct setup *s) {
        fake_settle(&s->t);
        pipeline_end_slice(s->t.pipeline, s->t.now, false);
        assert_int_equal(s->t.n_broken, 0);
}

static void expect_site(struct setup *s, uint64_t site, uint64_t n_allocs, uint64_t n_bytes) {
        const struct trace_site *row = row_of(s, 0, site);

        assert_non_null(row);
        assert_int_equal(row->n_allocs, n_allocs);
        assert_int_equal(row->alloc_bytes, n_bytes);
}

static void expect_broken(struct setup *s) {
        struct trace_counts c;

        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
        c = counts_of(s, 0);
        assert_true(c.n_lost > 0);
        /* the other thread goes on */
        fake_alloc(&s->b, s->t.now, 0x8000, 10, 1);
        fake_settle(&s->t);
        assert_int_equal(counts_of(s, 0).n_allocs, c.n_allocs + 1);
        assert_int_equal(s->t.n_broken, 1);
}

/* ---- what they stand for -------------------------------------------------------------------------- */

static void test_named_again(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        give(&s->a, 1000200, 0x2000, 2, WIRE_MAX_TOKEN, WIRE_END_COMPLETE);
        use(&s->a, 1000300, 0x3000, 20, 1);
        use(&s->a, 1000400, 0x4000, 200, WIRE_MAX_TOKEN);
        use(&s->a, 1000500, 0x5000, 20, 1);
        use(&s->a, 1000600, 0x6000, 0, 1);
        end_slice(s);
        expect_site(s, 1, 4, 50);
        expect_site(s, 2, 2, 210);
        assert_int_equal(counts_of(s, 0).n_complete_stacks, 6);
}

/* Every other record that has a stack may name it. */
static void test_in_other_records(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 3, WIRE_END_COMPLETE);
        give(&s->a, 1000150, 0x2000, 2, 4, WIRE_END_COMPLETE);
        fake_realloc_begin(&s->a, 1000200, 0x1000);
        fake_put_words(&s->a, 1000300, WIRE_REALLOC_END,
                       (uint64_t[]){0x3000, 30, WIRE_REALLOC_OK, known(4)}, 4);
        fake_put_words(&s->a, 1000400, WIRE_ALLOC, (uint64_t[]){0x4000, 5, known(3)}, 3);
        fake_put_words(&s->a, 1000500, WIRE_FREE_STACK,
                       (uint64_t[]){0x4000, WIRE_NO_SIZE, known(4)}, 3);
        fake_put_words(&s->a, 1000600, WIRE_MMAP, (uint64_t[]){0x100000, 4096, 3, known(3)}, 4);
        use(&s->a, 1000700, 0x5000, 7, 4);
        end_slice(s);
        expect_site(s, 1, 2, 15);
        expect_site(s, 2, 3, 47);
        assert_int_equal(counts_of(s, 0).n_frees, 2);
        assert_int_equal(counts_of(s, 0).n_reallocs, 1);
}

static void test_given_anew(void **state) {
        struct setup *s = *state;

        for (uint64_t i = 0; i < 6; i++) {
                give(&s->a, 1000100 + i * 100, 0x1000 + i * 0x100, i % 3, 7, WIRE_END_COMPLETE);
                use(&s->a, 1000150 + i * 100, 0x1080 + i * 0x100, 100 * (i % 3), 7);
        }
        end_slice(s);
        for (uint64_t i = 0; i < 3; i++)
                expect_site(s, i, 4, 2 * (10 + 100 * i));
}

static void test_each_ring_has_its_own(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 2, WIRE_END_COMPLETE);
        give(&s->b, 1000200, 0x2000, 2, 2, WIRE_END_COMPLETE);
        use(&s->a, 1000300, 0x3000, 1, 2);
        use(&s->b, 1000400, 0x4000, 2, 2);
        use(&s->a, 1000500, 0x5000, 1, 2);
        end_slice(s);
        expect_site(s, 1, 3, 12);
        expect_site(s, 2, 2, 12);
}

/* How the walk ended is part of what it names. */
static void test_ends(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_CUT);
        give(&s->a, 1000200, 0x2000, 1, 2, WIRE_END_COMPLETE);
        use(&s->a, 1000300, 0x3000, 1, 1);
        use(&s->a, 1000400, 0x4000, 1, 1);
        use(&s->a, 1000500, 0x5000, 1, 2);
        end_slice(s);
        assert_int_equal(counts_of(s, 0).n_allocs, 5);
        assert_int_equal(counts_of(s, 0).n_complete_stacks, 2);
}

/* Frames are kept from the last stack that came with some, whatever was named since. */
static void test_frames_behind_tokens(void **state) {
        struct setup *s = *state;
        struct trace_stack stack;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        fake_put_words(&s->a, 1000200, WIRE_ALLOC,
                       (uint64_t[]){0x2000, 1, wire_stack_word(0, 3, 0, 0) | token_bits(2), 0x10002,
                                    0x6001, 0x6000},
                       6);
        use(&s->a, 1000300, 0x3000, 1, 1);
        fake_put_words(&s->a, 1000400, WIRE_ALLOC,
                       (uint64_t[]){0x4000, 100, wire_stack_word(2, 1, 0, 0), 0x10003}, 4);
        end_slice(s);
        expect_site(s, 3, 1, 100);
        stack = s->w->stacks.items[row_of(s, 0, 3)->stack];
        stack = s->w->stacks.items[stack.parent];
        assert_int_equal(s->w->locations.items[stack.location].offset, 0x6001);
        stack = s->w->stacks.items[stack.parent];
        assert_int_equal(s->w->locations.items[stack.location].offset, 0x6000);
        assert_int_equal(stack.parent, 0);
}

/* ---- how long ------------------------------------------------------------------------------------- */

static void test_void_after_a_loss(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        fake_lose(&s->a, 1000200, 3);
        use(&s->a, 1000300, 0x2000, 10, 1);
        expect_broken(s);
}

static void test_given_again_after_a_loss(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        give(&s->b, 1000150, 0x8000, 3, 1, WIRE_END_COMPLETE);
        fake_lose(&s->a, 1000200, 3);
        give(&s->a, 1000300, 0x2000, 2, 1, WIRE_END_COMPLETE);
        use(&s->a, 1000400, 0x3000, 5, 1);
        use(&s->b, 1000500, 0x9000, 5, 1); /* which lost nothing */
        end_slice(s);
        expect_site(s, 1, 1, 10);
        expect_site(s, 2, 2, 15);
        expect_site(s, 3, 2, 15);
        assert_int_equal(counts_of(s, 0).n_lost, 3);
}

/* A new thread in an old one's slot has been given nothing. */
static void test_void_in_the_next_life_of_a_slot(void **state) {
        struct setup *s = *state;
        struct wire_slot *slot = s->a.slot;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        s->t.dead_tid = 101;
        atomic_store(&slot->state, (atomic_load(&slot->state) & ~0xffull) | WIRE_SLOT_EXITING);
        for (int i = 0; i < 50 && wire_slot_phase(atomic_load(&slot->state)) != WIRE_SLOT_FREE; i++)
                fake_settle(&s->t);
        fake_add_thread(&s->t, &s->a, s->idx, 103);
        assert_ptr_equal(s->a.slot, slot);
        use(&s->a, s->t.now, 0x2000, 10, 1);
        expect_broken(s);
}

/* A child's rings are its own. */
static void test_void_in_a_child(void **state) {
        struct setup *s = *state;
        struct fake_thread child;
        uint32_t idx;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        fake_put_words(&s->a, 1000200, WIRE_FORK, NULL, 0);
        idx = fake_fork(&s->t, s->idx, 1000200, true);
        fake_add_thread(&s->t, &child, idx, 110);
        give(&child, 1000300, 0x3000, 1, 2, WIRE_END_COMPLETE);
        use(&child, 1000400, 0x4000, 10, 2);
        fake_put_words(&s->a, 1000500, WIRE_FORK_DONE, NULL, 0);
        use(&s->a, 1000600, 0x5000, 10, 1); /* the parent's go on */
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 0);
        assert_int_equal(counts_of(s, 0).n_allocs, 2);
        assert_int_equal(counts_of(s, 1).n_allocs, 2);
        use(&child, s->t.now, 0x6000, 10, 1);
        fake_settle(&s->t);
        assert_int_equal(s->t.n_broken, 1);
}

/* ---- what breaks a ring --------------------------------------------------------------------------- */

static void test_never_given(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 5, WIRE_END_COMPLETE);
        give(&s->b, 1000150, 0x9000, 1, 6, WIRE_END_COMPLETE);
        use(&s->a, 1000200, 0x2000, 10, 6);
        expect_broken(s);
}

static void test_never_given_in_a_stack_word(void **state) {
        struct setup *s = *state;

        fake_put_words(&s->a, 1000100, WIRE_ALLOC, (uint64_t[]){0x1000, 1, known(1)}, 3);
        expect_broken(s);
}

static void test_none(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        use(&s->a, 1000200, 0x2000, 10, 0);
        expect_broken(s);
}

static void test_none_in_a_stack_word(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        fake_put_words(&s->a, 1000200, WIRE_ALLOC, (uint64_t[]){0x2000, 1, known(0)}, 3);
        expect_broken(s);
}

static void test_too_high(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        use(&s->a, 1000200, 0x2000, 10, WIRE_MAX_TOKEN + 1);
        expect_broken(s);
}

static void test_too_high_when_given(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, WIRE_MAX_TOKEN + 1, WIRE_END_COMPLETE);
        expect_broken(s);
}

static void test_known_and_kept(void **state) {
        struct setup *s = *state;

        give(&s->a, 1000100, 0x1000, 1, 1, WIRE_END_COMPLETE);
        fake_put_words(&s->a, 1000200, WIRE_ALLOC, (uint64_t[]){0x2000, 1, known(1) | 1}, 3);
        expect_broken(s);
}

/* A stack that breaks the rules is given no token by them. */
static void test_given_with_a_bad_stack(void **state) {
        struct setup *s = *state;

        fake_put_words(&s->a, 1000100, WIRE_ALLOC,
                       (uint64_t[]){0x1000, 1, wire_stack_word(3, 1, 0, 0) | token_bits(1),
                                    0x10001},
                       4);
        use(&s->a, 1000200, 0x2000, 10, 1);
        expect_broken(s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_named_again),
                TEST(test_in_other_records),
                TEST(test_given_anew),
                TEST(test_each_ring_has_its_own),
                TEST(test_ends),
                TEST(test_frames_behind_tokens),
                TEST(test_void_after_a_loss),
                TEST(test_given_again_after_a_loss),
                TEST(test_void_in_the_next_life_of_a_slot),
                TEST(test_void_in_a_child),
                TEST(test_never_given),
                TEST(test_never_given_in_a_stack_word),
                TEST(test_none),
                TEST(test_none_in_a_stack_word),
                TEST(test_too_high),
                TEST(test_too_high_when_given),
                TEST(test_known_and_kept),
                TEST(test_given_with_a_bad_stack),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
