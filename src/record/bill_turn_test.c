/* SPDX-License-Identifier: MIT */
/* Who is looked at, where looks take more than their share: by made-up processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "record/bill_turn.h"

#define MS 1000000ull
#define MIB (1ull << 20)

/* Each look takes 450 ms of all share there is, and those at memory that has grown may be 2 s ahead of it. Runs until the time. */
static void play(struct bill_turn *turns, size_t n, uint64_t from_ns, uint64_t to_ns,
                 uint64_t *share_ns) {
        for (uint64_t now = from_ns; now < to_ns; now += MS) {
                struct bill_share s = {*share_ns, *share_ns - MIN(*share_ns, 2000 * MS), 0};
                struct bill_turn *best = NULL;

                for (size_t i = 0; i < n; i++)
                        s.all_bytes += turns[i].began_ns <= now ? turns[i].anon_bytes : 0;
                for (size_t i = 0; i < n; i++)
                        if (turns[i].began_ns <= now && bill_turn_due(&turns[i], &s, now) <= now &&
                            (!best ||
                             bill_turn_weight(&turns[i], now) > bill_turn_weight(best, now)))
                                best = &turns[i];
                if (!best)
                        continue;
                best->last_ns = now;
                best->n_bills++;
                best->high_bytes = MAX(best->high_bytes, best->anon_bytes);
                *share_ns = MAX(*share_ns, now) + 450 * MS;
        }
}

/* A server with a dozen idle processes; then come three that take much, as postgres does for queries that sort. */
static void test_workers_among_idle(void **state) {
        struct bill_turn turns[15] = {0};
        uint64_t share_ns = 0;

        (void)state;
        for (size_t i = 0; i < 12; i++)
                turns[i] = (struct bill_turn){.anon_bytes = 3 * MIB};
        for (size_t i = 12; i < 15; i++)
                turns[i] = (struct bill_turn){.began_ns = 2000 * MS, .anon_bytes = 3 * MIB};
        play(turns, 15, 0, 2500 * MS, &share_ns);
        for (size_t i = 12; i < 15; i++)
                turns[i].anon_bytes = 150 * MIB;
        play(turns, 15, 2500 * MS, 4000 * MS, &share_ns);
        for (size_t i = 12; i < 15; i++)
                assert_true(turns[i].high_bytes == 150 * MIB);
        play(turns, 15, 4000 * MS, 20000 * MS, &share_ns);
        for (size_t i = 0; i < 15; i++)
                assert_true(turns[i].n_bills > 0);
}

/* One that keeps what it has is seen again, however many small ones come and go. */
static void test_large_among_passing(void **state) {
        struct bill_turn turns[2] = {{.anon_bytes = 1024 * MIB}};
        uint64_t share_ns = 0, now = 0, n;

        (void)state;
        for (; now < 60000 * MS; now += 200 * MS) {
                turns[1] = (struct bill_turn){.began_ns = now, .anon_bytes = 2 * MIB};
                play(turns, 2, now, now + 200 * MS, &share_ns);
        }
        n = turns[0].n_bills;
        assert_in_range(n, 10, 60);
        assert_true(turns[0].last_ns > 45000 * MS);
}

/* Alone: at 50 ms of its age, then an eighth of it apart, and sooner if it grows. */
static void test_alone(void **state) {
        const struct bill_share free_share = {0};
        struct bill_turn t = {.began_ns = 1000 * MS, .anon_bytes = 8 * MIB};

        (void)state;
        assert_int_equal(bill_turn_due(&t, &free_share, 1000 * MS), 1050 * MS);
        t.n_bills = 1;
        t.last_ns = 9000 * MS;
        t.high_bytes = t.anon_bytes;
        assert_int_equal(bill_turn_due(&t, &free_share, 9000 * MS), 10000 * MS);
        t.anon_bytes = 16 * MIB;
        assert_int_equal(bill_turn_due(&t, &free_share, 9000 * MS), 9125 * MS);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_workers_among_idle),
                cmocka_unit_test(test_large_among_passing),
                cmocka_unit_test(test_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
