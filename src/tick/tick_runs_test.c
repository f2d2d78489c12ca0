/* SPDX-License-Identifier: MIT */
/* What a thread ran is told whole and once: what samples do not stand for, what hosts of virtual machines make late, and not what they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tick/tick_runs.h"

#define MS UINT64_C(1000000)

static struct tick_process nobody;

static struct tick_thread thread(void) {
        return (struct tick_thread){.process = &nobody};
}

static void test_records(void **state) {
        struct tick_thread t = thread();
        struct ticker_tick tick;

        (void)state;
        tick_run_sample(&t, 1000, 4000); /* before it is known when it began to run */
        assert_false(tick_run_take_rest(&t, 5000, &tick));
        tick_run_begin(&t, 10000);
        tick_run_end(&t, 11500);
        tick_run_begin(&t, 20000);
        tick_run_sample(&t, 1000, 20500);
        assert_true(tick_run_take_rest(&t, 20700, &tick)); /* it runs until then */
        assert_int_equal(tick.weight_ns, 1500 + 700 - 1000);
        assert_int_equal(tick.state, TICKER_RUNS);
        assert_int_equal(tick.path.n_pcs + tick.path.n_kernel, 0);
        assert_false(tick_run_take_rest(&t, 20700, &tick));
        tick_run_begin(&t, 30000);
        tick_run_sample(&t, 1000, 30400);
        assert_false(tick_run_take_rest(&t, 30500, &tick)); /* samples say more */

        /* what goes on is told meanwhile, at the moment when it ran last, and once */
        t = thread();
        tick_run_begin(&t, 10000);
        assert_int_equal(tick_run_unsampled_ns(&t, 15000), 5000);
        tick_run_take(&t, 4000, 15000, &tick);
        assert_int_equal(tick.time_ns, 15000);
        assert_int_equal(tick.weight_ns, 4000);
        tick_run_end(&t, 16000);
        assert_int_equal(tick_run_unsampled_ns(&t, 90000), 2000);
        tick_run_take(&t, 1500, 90000, &tick);
        assert_int_equal(tick.time_ns, 16000);
        assert_true(tick_run_take_rest(&t, 90000, &tick));
        assert_int_equal(tick.weight_ns, 500);
        assert_int_equal(tick.time_ns, 16000);
}

/* What was counted goes with later samples: an eighth with each, a period at least, all but what is kept. */
static void test_late(void **state) {
        struct tick_thread t = thread();

        (void)state;
        tick_run_begin(&t, 10000);
        assert_true(tick_run_wants_count(&t, 5000, 10000));
        tick_run_sample(&t, 1000, 11000);
        assert_int_equal(tick_run_take_late(&t, 1000, 2000, 29000), 0); /* nobody has counted */
        tick_run_count(&t, 19000, 29000);
        assert_int_equal(tick_run_take_late(&t, 1000, 2000, 28999),
                         0); /* from when is not known yet */
        assert_int_equal(tick_run_take_late(&t, 1000, 2000, 29000), 16000 / 8);
        assert_int_equal(tick_run_take_late(&t, 1000, 2000, 29000), 14000 / 8);
        assert_int_equal(tick_run_take_late(&t, 20000, 2000, 29000), 14000 - 14000 / 8);
        assert_int_equal(tick_run_take_late(&t, 1000, 2000, 29000), 0);
        assert_int_equal(tick_run_unsampled_ns(&t, 29000), 2000);

        /* a count of later is as good, but for the time between */
        assert_false(tick_run_wants_count(&t, 5000, 29000));
        assert_true(tick_run_wants_count(&t, 5000, 49000));
        tick_run_count(&t, 39000, 49000);
        assert_int_equal(tick_run_take_late(&t, 30000, 2000, 45000), 20000 - 4000);
        tick_run_end(&t, 49000);
        assert_int_equal(tick_run_owed_ns(&t, 2000, 49000), 4000);
        assert_int_equal(tick_run_unsampled_ns(&t, 49000), 6000);

        /* where the kernel does not count, all is the thread's */
        tick_run_begin(&t, 60000);
        tick_run_count(&t, TICK_NO_COUNT, 70000);
        tick_run_settle(&t, 70000);
        assert_int_equal(tick_run_owed_ns(&t, 2000, 70000), 14000);
}

/* Counts are behind by any time while a thread runs, and only what surely is in none of them was others'. */
static void test_stolen(void **state) {
        struct tick_thread t = thread();

        (void)state;
        tick_run_begin(&t, 10000);
        tick_run_count(&t, 0, 40000); /* no clock has ticked yet */
        tick_run_settle(&t, 40000);
        assert_int_equal(t.run.stolen_ns, 0);
        tick_run_count(&t, 0, 60000);
        tick_run_settle(&t, 60000);
        assert_int_equal(t.run.stolen_ns, 0);
        tick_run_count(&t, 45000, 80000); /* one has, after 60000, when it had run for 50000 */
        tick_run_settle(&t, 80000);
        assert_int_equal(t.run.stolen_ns, 5000);
        tick_run_count(&t, 45000, 90000);
        tick_run_settle(&t, 90000);
        assert_int_equal(t.run.stolen_ns, 5000);
        tick_run_end(&t, 95000); /* off its CPU nothing is missing */
        tick_run_count(&t, 73000, 99000);
        tick_run_settle(&t, 99000);
        assert_int_equal(t.run.stolen_ns, 12000);
        assert_int_equal(tick_run_unsampled_ns(&t, 99000), 73000);
        assert_false(tick_run_wants_count(&t, 1000, 200000)); /* it has not run since */
}

/* Of a thread that had run for long the kernel has counted more, and the count is of its own moment: records are taken for long at first. */
static void test_baseline(void **state) {
        struct tick_thread t = thread();

        (void)state;
        tick_run_begin(&t, 10 * MS);
        tick_run_count(&t, 5000 * MS, 310 * MS);
        for (uint64_t ms = 11; ms <= 310; ms++) {
                tick_run_sample(&t, MS, ms * MS);
                assert_int_equal(tick_run_take_late(&t, MS, 2 * MS, ms * MS), 0);
        }
        tick_run_settle(&t, 310 * MS);
        assert_int_equal(t.run.stolen_ns, 0);
        assert_int_equal(tick_run_unsampled_ns(&t, 310 * MS), 0);
        tick_run_count(&t, 5500 * MS, 810 * MS);
        tick_run_settle(&t, 810 * MS);
        assert_int_equal(t.run.stolen_ns, 0);
        assert_int_equal(tick_run_owed_ns(&t, 2 * MS, 810 * MS), 498 * MS);
        tick_run_end(&t, 910 * MS);
        tick_run_count(&t, 5570 * MS, 910 * MS);
        tick_run_settle(&t, 910 * MS);
        assert_int_equal(t.run.stolen_ns, 30 * MS);
}

/* When it was that no sample was taken: while it ran, behind the last sample, the part behind first. */
static void test_places(void **state) {
        struct tick_thread t = thread();
        struct ticker_tick tick;
        uint64_t end_ns;

        (void)state;
        tick_run_begin(&t, 10 * MS);
        for (uint64_t ms = 11; ms <= 20; ms++)
                tick_run_sample(&t, MS, ms * MS);
        assert_int_equal(tick_run_place_late(&t, 5, 5, 99, &end_ns), 5); /* there is none */
        assert_int_equal(end_ns, 99);
        tick_run_end(&t, 50 * MS); /* 30 */
        tick_run_begin(&t, 70 * MS);
        tick_run_sample(&t, MS, 91 * MS); /* 20 */
        assert_int_equal(tick_run_place_late(&t, 50 * MS, 8 * MS, 91 * MS, &end_ns), 8 * MS);
        assert_int_equal(end_ns, 90 * MS);
        assert_int_equal(tick_run_place_late(&t, 42 * MS, 50 * MS, 91 * MS, &end_ns), 12 * MS);
        assert_int_equal(end_ns, 82 * MS);
        assert_int_equal(tick_run_place_late(&t, 1 * MS, 8 * MS, 91 * MS, &end_ns), 1 * MS);
        assert_int_equal(end_ns, 50 * MS);
        for (uint64_t ms = 92; ms <= 98; ms++)
                tick_run_sample(&t, MS, ms * MS);
        /* nor is it anything else that is left when it ends */
        assert_true(tick_run_take_rest(&t, 98 * MS, &tick));
        assert_int_equal(tick.weight_ns, 29 * MS);
        assert_int_equal(tick.n_samples, 0);
        assert_int_equal(tick.time_ns, 49 * MS);
        assert_true(tick_run_take_rest(&t, 98 * MS, &tick));
        assert_int_equal(tick.weight_ns, 68 * MS - 18 * MS - 29 * MS);
        assert_int_equal(tick.n_samples, 1);
        assert_int_equal(tick.time_ns, 98 * MS);
        assert_false(tick_run_take_rest(&t, 98 * MS, &tick));
}

/* A thread that comes and goes has many of them, and those that are near each other are spread over all of them. */
static void test_many_places(void **state) {
        struct tick_thread t = thread();
        uint64_t end_ns, before_ns = 1001 * MS, sum_ns = 0;

        (void)state;
        tick_run_begin(&t, 1 * MS);
        tick_run_sample(&t, MS, 2 * MS);
        for (uint64_t ms = 10; ms < 1000;
             ms += 10) { /* 4 ms in each 10, each longer than the pause to the next */
                tick_run_begin(&t, ms * MS);
                tick_run_end(&t, (ms + 4) * MS);
        }
        assert_int_equal(t.run.n_gaps, TICK_N_GAPS);
        for (int i = 0; i < 99 * 2; i++, before_ns = end_ns) {
                uint64_t ns = tick_run_place_late(&t, 2 * MS, 2 * MS, 2000 * MS, &end_ns);

                sum_ns += ns;
                assert_true(end_ns <= before_ns && end_ns + 2 * MS >= 10 * MS);
                /* what is told from there on is what was run from there on, but for what lies between two gaps that are one */
                assert_in_range(sum_ns + 50 * MS, (994 * MS - MIN(end_ns, 994 * MS)) * 4 / 10,
                                (994 * MS - MIN(end_ns, 994 * MS)) * 4 / 10 + 100 * MS);
        }
        assert_int_equal(sum_ns, 99 * 4 * MS);
        assert_int_equal(t.run.n_gaps, 0);
}

/* One thread computes without a pause on a machine that stands still again and again, with its timers. */
struct machine {
        uint64_t goes_ns, stands_ns; /* in turn */
        bool is_stolen;              /* what it stands still for the kernel does not count */
        bool stops_recorder;
        uint64_t clock_ns; /* of the kernel: counts move then */
};

static bool stands(const struct machine *m, uint64_t time_ns) {
        return time_ns % (m->goes_ns + m->stands_ns) >= m->goes_ns;
}

static uint64_t truth_ns(const struct machine *m, uint64_t time_ns) {
        uint64_t turn_ns = m->goes_ns + m->stands_ns;

        if (!m->is_stolen)
                return time_ns;
        return time_ns / turn_ns * m->goes_ns + MIN(time_ns % turn_ns, m->goes_ns);
}

static uint64_t counted_ns(const struct machine *m, uint64_t time_ns) {
        time_ns -= time_ns % m->clock_ns;
        while (time_ns && stands(m, time_ns))
                time_ns -= m->clock_ns;
        return truth_ns(m, time_ns);
}

/* How much is told of each millisecond. */
enum { MAX_MS = 40000 };
static uint64_t told_at[MAX_MS];

static void put(uint64_t ns, uint64_t end_ns) {
        for (uint64_t at = end_ns - ns, next; at < end_ns; at = next) {
                next = MIN((at / MS + 1) * MS, end_ns);
                told_at[at / MS] += next - at;
        }
}

static void put_late(struct tick_thread *t, uint64_t ns, uint64_t time_ns) {
        uint64_t end_ns, part_ns;

        for (; ns; ns -= part_ns) {
                part_ns = tick_run_place_late(t, ns, 8 * MS, time_ns, &end_ns);
                put(part_ns, end_ns);
        }
}

static void check_machine(const struct machine *m, uint64_t n_turns) {
        enum { DRAIN = 20, KEPT = 2, SLACK = 6 };
        uint64_t end_ns = n_turns * (m->goes_ns + m->stands_ns) + m->goes_ns - MS;
        /* what is not known yet when the thread ends: two drains are between it and a count, or the machine stood still there */
        uint64_t unknown_ns = 2 * DRAIN * MS + m->clock_ns + (m->stops_recorder ? m->stands_ns : 0);
        uint64_t told_ns = 0, rest_ns = 0, next_ns = MS, drained_ns = 0, late_ns,
                 truth = truth_ns(m, end_ns);
        struct tick_thread t = thread();
        struct ticker_tick tick;

        memset(told_at, 0, sizeof(told_at));
        tick_run_begin(&t, 0);
        t.run.since_ns = 1; /* 0 is "not" */
        for (uint64_t now = 0; drained_ns < end_ns;) {
                now = MIN(now + DRAIN * MS, end_ns);
                while (m->stops_recorder && stands(m, now))
                        now += MS;
                if (tick_run_wants_count(&t, SLACK * MS, MAX(drained_ns, now - DRAIN * MS)))
                        tick_run_count(&t, counted_ns(m, now), now);
                for (; next_ns <= now; next_ns += MS) {
                        if (stands(m, next_ns))
                                continue;
                        tick_run_sample(&t, MS, next_ns);
                        put(MS, next_ns);
                        late_ns = tick_run_take_late(&t, MS, KEPT * MS, next_ns);
                        put_late(&t, late_ns, next_ns);
                        told_ns += MS + late_ns;
                        assert_true(told_ns <= truth_ns(m, next_ns) + 2 * MS);
                }
                tick_run_settle(&t, now);
                drained_ns = now;
        }
        while (tick_run_take_rest(&t, end_ns, &tick)) {
                put(tick.weight_ns, tick.time_ns);
                rest_ns += tick.weight_ns;
        }
        assert_true(told_ns + rest_ns + 2 * MS >= truth);
        assert_true(told_ns + rest_ns <= truth + unknown_ns);
        assert_true(rest_ns <= unknown_ns + KEPT * MS);
        for (size_t ms = 0; ms < end_ns / MS;
             ms++) /* at no moment more than a CPU, but for what is kept */
                assert_true(told_at[ms] <=
                            (ms + 2 * KEPT + unknown_ns / MS < end_ns / MS ? MS + 1 : 3 * MS));
}

static void test_machines(void **state) {
        static const uint64_t clocks[] = {MS, 4 * MS, 10 * MS, 1000 * MS};
        static const uint64_t turns[][2] = {
                {20, 80}, {50, 50}, {90, 10}, {5000, 1000}, {5000, 10000}};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
                for (size_t c = 0; c < ARRAY_SIZE(clocks); c++)
                        for (int k = 0; k < 4; k++)
                                check_machine(&(struct machine){.goes_ns = turns[i][0] * MS,
                                                                .stands_ns = turns[i][1] * MS,
                                                                .is_stolen = k & 1,
                                                                .stops_recorder = k & 2,
                                                                .clock_ns = clocks[c]},
                                              turns[i][0] > 1000 ? 2 : 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_records),  cmocka_unit_test(test_late),
                cmocka_unit_test(test_stolen),   cmocka_unit_test(test_baseline),
                cmocka_unit_test(test_places),   cmocka_unit_test(test_many_places),
                cmocka_unit_test(test_machines),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
