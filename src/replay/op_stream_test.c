/* SPDX-License-Identifier: MIT */
/* Operations written and read again; streams that break a rule; numbers of blocks against a plain list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/op_reader.h"
#include "replay/op_writer.h"
#include "replay/slot_table.h"

struct source {
        const uint8_t *bytes;
        size_t n, at, step;
};

static ssize_t fill(void *ctx, uint8_t *to, size_t cap) {
        struct source *s = ctx;
        size_t n = MIN(MIN(cap, s->step), s->n - s->at);

        memcpy(to, s->bytes + s->at, n);
        s->at += n;
        return (ssize_t)n;
}

static const struct op written[] = {
        {.tag = OP_ALLOC, .slot = 0, .size_bytes = 0},
        {.tag = OP_THREAD, .thread = 1},
        {.tag = OP_TIME, .time_us = 1ull << 40},
        {.tag = OP_ALLOC_PART, .slot = 1, .size_bytes = OP_MAX_BLOCK_BYTES, .touched_bytes = 5},
        {.tag = OP_THREAD, .thread = 0},
        {.tag = OP_THREAD_END, .thread = 1},
        {.tag = OP_REALLOC, .slot = 0, .size_bytes = 300, .touched_bytes = 300},
        {.tag = OP_FREE, .slot = 1},
};

static void write_all(struct op_writer *w) {
        op_writer_begin(w);
        for (size_t i = 0; i < ARRAY_SIZE(written); i++)
                assert_false(op_writer_put(w, &written[i]));
        op_writer_put(w, &(struct op){.tag = OP_END});
}

static struct op_reader reader_of(struct source *s, uint8_t *buf, size_t cap) {
        return (struct op_reader){.fill = fill, .ctx = s, .buf = buf, .cap = cap};
}

static void test_round_trip(void **state) {
        static struct op_writer w;

        write_all(&w);
        for (size_t step = 1; step <= 64; step++) {
                uint8_t buf[OP_MAX_BYTES + 1];
                struct source s = {w.buf, w.n, 0, step};
                struct op_reader r = reader_of(&s, buf, sizeof(buf));
                struct op op;

                for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
                        assert_int_equal(op_reader_next(&r, &op), 1);
                        assert_int_equal(op.tag, written[i].tag);
                        assert_int_equal(op.slot, written[i].slot);
                        assert_int_equal(op.thread, written[i].thread);
                        assert_int_equal(op.size_bytes, written[i].size_bytes);
                        assert_int_equal(op.touched_bytes, op.tag == OP_ALLOC
                                                                   ? op.size_bytes
                                                                   : written[i].touched_bytes);
                        assert_int_equal(op.time_us, written[i].time_us);
                }
                assert_int_equal(op_reader_next(&r, &op), 0);
                assert_int_equal(op_reader_next(&r, &op), 0);
                assert_int_equal(r.n_ops, 4);
        }
        (void)state;
}

/* Wherever it is cut, it says so. */
static void test_cut(void **state) {
        static struct op_writer w;

        write_all(&w);
        for (size_t n = 0; n < w.n; n++) {
                uint8_t buf[OP_MAX_BYTES];
                struct source s = {w.buf, n, 0, 7};
                struct op_reader r = reader_of(&s, buf, sizeof(buf));
                struct op op;
                int result;

                while ((result = op_reader_next(&r, &op)) > 0)
                        ;
                assert_int_equal(result, -EBADMSG);
        }
        (void)state;
}

static int read_one(const struct op *ops, size_t n) {
        static struct op_writer w;
        uint8_t buf[OP_MAX_BYTES];
        struct source s;
        struct op_reader r;
        struct op op;
        int result;

        op_writer_begin(&w);
        for (size_t i = 0; i < n; i++)
                op_writer_put(&w, &ops[i]);
        op_writer_put(&w, &(struct op){.tag = OP_END});
        s = (struct source){w.buf, w.n, 0, 100};
        r = reader_of(&s, buf, sizeof(buf));
        while ((result = op_reader_next(&r, &op)) > 0)
                ;
        return result;
}

static void test_rules(void **state) {
        static const struct op bad[] = {
                {.tag = OP_ALLOC, .slot = 1, .size_bytes = 1},
                {.tag = OP_FREE, .slot = 0},
                {.tag = OP_REALLOC, .slot = 0, .size_bytes = 1},
                {.tag = OP_ALLOC, .slot = 0, .size_bytes = OP_MAX_BLOCK_BYTES + 1},
                {.tag = OP_ALLOC_PART, .slot = 0, .size_bytes = 1, .touched_bytes = 2},
                {.tag = OP_THREAD, .thread = 2},
                {.tag = OP_THREAD_END, .thread = 0},
                {.tag = OP_THREAD_END, .thread = 1},
                {.tag = OP_TIME, .time_us = OP_MAX_TIME_US + 1},
        };

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_int_equal(read_one(&bad[i], 1), -EBADMSG);
        assert_int_equal(read_one(NULL, 0), 0);
        (void)state;
}

/* Every live block has a number of its own, below the most that were ever live. */
static void test_slots(void **state) {
        enum { N = 20000 };
        struct slot_table t = {0};
        VEC(uint64_t) live = {0};
        VEC(uint32_t) slots = {0};
        static bool is_used[N];
        size_t most = 0;
        uint32_t slot;

        srand(7);
        for (uint64_t seq = 0; seq < N; seq++) {
                if (live.n && rand() % 3 == 0) {
                        size_t i = (size_t)rand() % live.n;

                        assert_true(slot_table_remove(&t, live.items[i], &slot));
                        assert_int_equal(slot, slots.items[i]);
                        assert_false(slot_table_remove(&t, live.items[i], &slot));
                        is_used[slot] = false;
                        live.items[i] = live.items[--live.n];
                        slots.items[i] = slots.items[--slots.n];
                } else if (live.n && rand() % 3 == 0) {
                        size_t i = (size_t)rand() % live.n;

                        assert_true(slot_table_replace(&t, live.items[i], seq, &slot));
                        assert_int_equal(slot, slots.items[i]);
                        live.items[i] = seq;
                } else {
                        slot = slot_table_add(&t, seq);
                        assert_false(is_used[slot]);
                        is_used[slot] = true;
                        vec_push(&live, seq);
                        vec_push(&slots, slot);
                }
                most = MAX(most, live.n);
        }
        assert_int_equal(t.n, live.n);
        assert_int_equal(t.n_slots, most);
        slot_table_done(&t);
        vec_free(&live);
        vec_free(&slots);
        (void)state;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_cut),
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_slots),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
