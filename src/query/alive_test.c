/* SPDX-License-Identifier: MIT */
/* The table of blocks alive holds what a plain array holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/alive.h"

enum { N_NUMBERS = 8 * ALIVE_YOUNG, N_STEPS = 600000 };

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return (*random >> 33) % below;
}

struct sum {
        uint64_t n, seqs;
        const uint64_t *sizes; /* of what should be there; 0: not */
};

static bool add(void *ctx, struct alive_block *b) {
        struct sum *s = ctx;

        assert_int_equal(b->size_bytes, s->sizes[b->seq]);
        s->n++;
        s->seqs += b->seq;
        b->by_realloc = 1;
        return b->seq % 3 != 0; /* a third goes */
}

static void check_each(struct alive *t, uint64_t *sizes) {
        struct sum expected = {0}, actual = {.sizes = sizes};

        for (uint64_t i = 0; i < N_NUMBERS; i++)
                if (sizes[i])
                        expected.n++, expected.seqs += i;
        assert_int_equal(t->n, expected.n);
        alive_each(t, add, &actual);
        assert_int_equal(actual.n, expected.n);
        assert_int_equal(actual.seqs, expected.seqs);
        for (uint64_t i = 0; i < N_NUMBERS; i += 3)
                sizes[i] = 0;
}

/* Mostly rising numbers, as allocations have, and any others, as blocks that a fork leaves behind. */
static void test_random(void **state) {
        uint64_t *sizes = calloc(N_NUMBERS, sizeof(sizes[0])), random = 1, next = 0;
        struct alive t = {0};

        (void)state;
        assert_non_null(sizes);
        for (unsigned i = 0; i < N_STEPS; i++) {
                uint64_t seq = draw(&random, 4) ? next++ % N_NUMBERS : draw(&random, N_NUMBERS);
                const struct alive_block *found = alive_find(&t, seq);
                struct alive_block b = {.seq = seq, .size_bytes = 1 + draw(&random, 1000)}, taken;

                assert_int_equal(found ? found->size_bytes : 0, sizes[seq]);
                if (sizes[seq]) {
                        assert_true(alive_take(&t, seq, &taken));
                        assert_int_equal(taken.size_bytes, sizes[seq]);
                        sizes[seq] = 0;
                } else {
                        alive_put(&t, &b);
                        sizes[seq] = b.size_bytes;
                }
                assert_false(!sizes[seq] && alive_take(&t, seq, &taken));
                if (i % 100000 == 99999)
                        check_each(&t, sizes);
        }
        assert_true(t.n_old > ALIVE_YOUNG); /* both parts were used */
        alive_done(&t);
        free(sizes);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
