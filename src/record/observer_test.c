/* SPDX-License-Identifier: MIT */
/* The recorder's observers under a clock that moves only when told: periods, stalls, slow rows, order, slack, switching off, cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "record/observer.h"

enum { N_ROWS = 4, MAX_RUNS = 4096 };

struct run {
        unsigned row;
        uint64_t begin_ns;
};

/* What rows are given: the time, how long each takes, what each says, and what was done. */
struct world {
        uint64_t now_ns;
        uint64_t takes_ns[N_ROWS], next_ns[N_ROWS], due_ns;
        struct run runs[MAX_RUNS];
        size_t n_runs;
        struct observers *o;
        bool wakes_last; /* row 0 wakes row 3 */
};

static uint64_t clock_ns(const void *ctx) {
        const struct world *w = ctx;

        return w->now_ns;
}

static uint64_t observe(struct world *w, unsigned row, uint64_t now_ns) {
        assert_int_equal(now_ns, w->now_ns);
        assert_true(w->n_runs < MAX_RUNS);
        w->runs[w->n_runs++] = (struct run){row, now_ns};
        w->now_ns += w->takes_ns[row];
        if (row == 0 && w->wakes_last)
                observers_wake(w->o, 3, OBSERVER_NEXT_ROUND);
        return w->next_ns[row];
}

static uint64_t observe_0(void *ctx, uint64_t now_ns) {
        return observe(ctx, 0, now_ns);
}
static uint64_t observe_1(void *ctx, uint64_t now_ns) {
        return observe(ctx, 1, now_ns);
}
static uint64_t observe_2(void *ctx, uint64_t now_ns) {
        return observe(ctx, 2, now_ns);
}
static uint64_t observe_3(void *ctx, uint64_t now_ns) {
        return observe(ctx, 3, now_ns);
}
static uint64_t due_2(const void *ctx) {
        return ((const struct world *)ctx)->due_ns;
}

static size_t count(const struct world *w, unsigned row) {
        size_t n = 0;

        for (size_t i = 0; i < w->n_runs; i++)
                n += w->runs[i].row == row;
        return n;
}

/* Sleeps as the recorder does, to the very nanosecond. */
static void run_until(struct world *w, uint64_t end_ns) {
        for (;;) {
                observers_run(w->o);
                if (observers_next_ns(w->o) >= end_ns)
                        break;
                w->now_ns = MAX(w->now_ns, observers_next_ns(w->o));
        }
        w->now_ns = MAX(w->now_ns, end_ns);
}

static void test_periods(void **state) {
        const struct observer table[] = {
                {.name = "a", .observe = observe_0, .period_ns = 100},
                {.name = "b", .observe = observe_1, .period_ns = 250, .first_ns = 30}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o};
        observers_init(&o, table, 2, clock_ns, &w);
        run_until(&w, 1000);
        assert_int_equal(count(&w, 0), 10); /* 0, 100, … 900 */
        assert_int_equal(count(&w, 1), 4);  /* 30, 280, 530, 780 */
        assert_int_equal(observers_next_ns(&o), 1000);
}

static void test_no_burst_after_a_stall(void **state) {
        const struct observer table[] = {{.name = "a", .observe = observe_0, .period_ns = 100}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o};
        observers_init(&o, table, 1, clock_ns, &w);
        observers_run(&o);
        w.now_ns = 10050; /* the machine slept */
        for (int i = 0; i < 5; i++)
                observers_run(&o);
        assert_int_equal(w.n_runs, 2);
        assert_int_equal(observers_next_ns(&o), 10150);
        assert_int_equal(o.cost[0].latest_ns, 9950);
}

/* Rows run in the order of the table, each once a round, and a slow one is only waited for. */
static void test_slow_row_starves_nobody(void **state) {
        const struct observer table[] = {{.name = "slow", .observe = observe_0, .period_ns = 10},
                                         {.name = "b", .observe = observe_1, .period_ns = 1000},
                                         {.name = "c", .observe = observe_3, .period_ns = 10}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o, .takes_ns = {500}};
        observers_init(&o, table, 3, clock_ns, &w);
        for (int i = 0; i < 20; i++) /* it is always due again when it ends */
                observers_run(&o);
        assert_int_equal(count(&w, 0), 20);
        assert_int_equal(count(&w, 1), 10);
        assert_int_equal(count(&w, 3), 20);
        assert_int_equal(w.runs[0].row, 0);
        assert_int_equal(w.runs[1].row, 1);
        assert_int_equal(w.runs[1].begin_ns, 500);
        assert_int_equal(w.runs[2].row, 3);
        assert_true(o.cost[2].latest_ns <= 500);
}

static void test_share_bounds_a_slow_row(void **state) {
        const struct observer table[] = {
                {.name = "slow", .observe = observe_0, .period_ns = 10, .share = 100}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o, .takes_ns = {50}};
        observers_init(&o, table, 1, clock_ns, &w);
        run_until(&w, 100000);
        assert_int_equal(count(&w, 0), 20); /* 50 of every 5000 */
        assert_int_equal(o.cost[0].took_ns, 1000);
        assert_int_equal(o.cost[0].longest_ns, 50);
        assert_int_equal(o.cost[0].n_rounds, 20);
}

static void test_rows_that_say_when(void **state) {
        const struct observer table[] = {
                {.name = "a", .observe = observe_0},
                {.name = "b", .observe = observe_1, .first_ns = OBSERVER_NEVER},
                {.name = "c", .observe = observe_2, .due = due_2},
                {.name = "d", .observe = observe_3, .first_ns = OBSERVER_NEVER}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o,
                           .next_ns = {70, 5, 5, OBSERVER_NEVER},
                           .due_ns = 40,
                           .wakes_last = true};
        observers_init(&o, table, 4, clock_ns, &w);
        observers_run(&o); /* a, which wakes d in the same round */
        assert_int_equal(w.n_runs, 2);
        assert_int_equal(w.runs[1].row, 3);
        assert_int_equal(observers_next_ns(&o), 40);
        w.now_ns = 40;
        w.due_ns = OBSERVER_NEXT_ROUND; /* c runs in each round, and wakes nobody */
        observers_run(&o);
        observers_run(&o);
        assert_int_equal(count(&w, 2), 2);
        assert_int_equal(observers_next_ns(&o), 70);
        w.due_ns = OBSERVER_NEVER;
        observers_wake(&o, 1, 60);
        observers_wake(&o, 1, 65); /* the earlier one counts */
        assert_int_equal(observers_next_ns(&o), 60);
        assert_int_equal(count(&w, 1), 0);
        assert_int_equal(o.cost[2].latest_ns, 0);
}

/* Of two rows the one with slack waits for the other's wake-up, but not for ever. */
static void test_slack_saves_wake_ups(void **state) {
        const struct observer table[] = {
                {.name = "a", .observe = observe_0, .period_ns = 100, .first_ns = 100},
                {.name = "b",
                 .observe = observe_1,
                 .period_ns = 30,
                 .first_ns = 30,
                 .slack_ns = 1000}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o};
        observers_init(&o, table, 2, clock_ns, &w);
        run_until(&w, 1000);
        assert_int_equal(count(&w, 0), 9);
        assert_int_equal(count(&w, 1), 9);
        for (size_t i = 0; i < w.n_runs; i++)
                assert_int_equal(w.runs[i].begin_ns % 100, 0);
        observers_switch(&o, 0, false);
        assert_int_equal(observers_next_ns(&o), 930 + 1000);
}

static void test_off(void **state) {
        const struct observer table[] = {{.name = "a", .observe = observe_0, .period_ns = 100},
                                         {.name = "b", .observe = observe_1, .period_ns = 100}};
        static struct world w;
        struct observers o;

        (void)state;
        w = (struct world){.o = &o};
        observers_init(&o, table, 2, clock_ns, &w);
        observers_switch(&o, 0, false);
        observers_wake(&o, 0, OBSERVER_NEXT_ROUND);
        run_until(&w, 500);
        assert_int_equal(count(&w, 0), 0);
        assert_int_equal(count(&w, 1), 5);
        observers_switch(&o, 0, true);
        observers_run(&o);
        assert_int_equal(count(&w, 0), 1);
        observers_switch(&o, 0, false);
        observers_switch(&o, 1, false);
        assert_true(observers_next_ns(&o) == OBSERVER_NEVER);
}

/* Any periods, costs and stalls: no row runs more often than its period, none is later than the round and the stall it waited for. */
static void test_random(void **state) {
        (void)state;
        srandom(20240607);
        for (int seed = 0; seed < 300; seed++) {
                const struct observer table[] = {{.name = "a",
                                                  .observe = observe_0,
                                                  .period_ns = 1 + (uint64_t)random() % 200},
                                                 {.name = "b",
                                                  .observe = observe_1,
                                                  .period_ns = 1 + (uint64_t)random() % 200},
                                                 {.name = "c",
                                                  .observe = observe_3,
                                                  .period_ns = 1 + (uint64_t)random() % 200}};
                const unsigned row_of[] = {0, 1, 3};
                static struct world w;
                struct observers o;
                uint64_t stall_ns = (uint64_t)random() % 1000, round_ns = 0;

                w = (struct world){.o = &o};
                for (size_t i = 0; i < ARRAY_SIZE(row_of); i++)
                        round_ns += w.takes_ns[row_of[i]] = (uint64_t)random() % 60;
                observers_init(&o, table, 3, clock_ns, &w);
                for (int i = 0; i < 200; i++) {
                        observers_run(&o);
                        w.now_ns = MAX(w.now_ns, observers_next_ns(&o));
                        if (i % 10 == 9)
                                w.now_ns += stall_ns;
                }
                for (size_t k = 0; k < ARRAY_SIZE(row_of); k++) {
                        uint64_t last_ns = 0, took_ns = 0;
                        size_t n = 0;

                        for (size_t i = 0; i < w.n_runs; i++) {
                                if (w.runs[i].row != row_of[k])
                                        continue;
                                if (n++)
                                        assert_true(w.runs[i].begin_ns >=
                                                    last_ns + table[k].period_ns);
                                last_ns = w.runs[i].begin_ns;
                                took_ns += w.takes_ns[row_of[k]];
                        }
                        assert_true(n > 0);
                        assert_int_equal(o.cost[k].n_rounds, n);
                        assert_int_equal(o.cost[k].took_ns, took_ns);
                        assert_int_equal(o.cost[k].longest_ns, w.takes_ns[row_of[k]]);
                        assert_true(o.cost[k].latest_ns <= 2 * round_ns + stall_ns);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_periods),
                cmocka_unit_test(test_no_burst_after_a_stall),
                cmocka_unit_test(test_slow_row_starves_nobody),
                cmocka_unit_test(test_share_bounds_a_slow_row),
                cmocka_unit_test(test_rows_that_say_when),
                cmocka_unit_test(test_slack_saves_wake_ups),
                cmocka_unit_test(test_off),
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
