/* SPDX-License-Identifier: MIT */
/* When there is a second thread: on machines made of figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "record/worker_rule.h"

#define TOOK_NS 250000000ull

/* CPU time that an event takes, as shares of what the recorder takes for one on one thread. */
struct machine {
        double n_cores, others; /* cores; those that other programs keep busy */
        double target;          /* of one event, in the target */
        double first, second;   /* in the recorder: what stays, and what a worker takes */
        double wanted; /* events that the target makes if nobody stops it, of what one thread drains */
};

/* What an interval comes to: the slowest of all threads, or the cores, say how many events there are. */
static struct worker_figures machine_run(const struct machine *m, bool is_on) {
        double alone = m->first + m->second, all = alone + m->target;
        double n = MIN(m->wanted, is_on ? 1 / m->first : 1 / alone);
        double first;

        n = MIN(n, MAX(m->n_cores - m->others, 0.1) / all);
        first = n * (is_on ? m->first : alone);
        return (struct worker_figures){
                .took_ns = TOOK_NS,
                /* with no core to itself it is ready all the time, and does not sleep */
                .slept_ns = m->others + n * all > m->n_cores - 0.01
                                    ? 0
                                    : (uint64_t)((1 - MIN(first, 1.0)) * TOOK_NS),
                .cpu_ns = (uint64_t)(n * alone * TOOK_NS),
                .idle_ns = (uint64_t)(MAX(m->n_cores - m->others - n * all, 0.0) * TOOK_NS),
                .has_idle = true,
                .has_cores = m->n_cores > 1,
        };
}

/* Of n intervals, behind those in which it finds its way, how many had a worker. */
static int machine_count(const struct machine *m, struct worker_rule *x, int n) {
        int n_on = 0;

        for (int i = 0; i < n; i++) {
                struct worker_figures f = machine_run(m, x->is_on);

                n_on += x->is_on;
                worker_rule_judge(x, &f);
        }
        return n_on;
}

/* As bench_pipeline has it: 60 of 85 ns stay. */
#define RECORDER .first = 0.7, .second = 0.3

static void test_begins_where_a_core_is_idle(void **state) {
        static const struct machine m = {.n_cores = 4, .target = 0.7, RECORDER, .wanted = 10};
        struct worker_rule x = {0};

        (void)state;
        assert_int_equal(machine_count(&m, &x, 10), 9);
}

/* Two cores, a loop in the target: a third of a core is idle before, none after. */
static void test_two_cores(void **state) {
        static const struct machine m = {.n_cores = 2, .target = 0.7, RECORDER, .wanted = 10};
        struct worker_figures f = machine_run(&m, false);
        struct worker_rule x = {0};

        (void)state;
        assert_in_range(f.idle_ns, TOOK_NS * 29 / 100, TOOK_NS * 31 / 100);
        f = machine_run(&m, true);
        assert_int_equal(f.idle_ns, 0);
        assert_int_equal(machine_count(&m, &x, 9 * 10 + 1), 8 * 10);
}

/* With a worker it keeps up, and sleeps: that is no reason to end it. */
static void test_stays_while_it_helps(void **state) {
        static const struct machine m = {.n_cores = 4, .target = 0.7, RECORDER, .wanted = 1.1};
        struct worker_rule x = {0};
        struct worker_figures f;

        (void)state;
        assert_int_equal(machine_count(&m, &x, 10), 9);
        f = machine_run(&m, true);
        assert_true(f.slept_ns > TOOK_NS / 8);
}

static void test_not_where_one_thread_suffices(void **state) {
        static const struct machine m = {.n_cores = 4, .target = 0.7, RECORDER, .wanted = 0.8};
        struct worker_rule x = {0};

        (void)state;
        assert_int_equal(machine_count(&m, &x, 10), 0);
        x.is_on = true;
        assert_int_equal(machine_count(&m, &x, 10), 1);
}

static void test_not_where_nothing_is_idle(void **state) {
        static const struct machine busy = {.n_cores = 2,
                                            .others = 1,
                                            .target = 0.7,
                                            RECORDER,
                                            .wanted = 10},
                                    one = {.n_cores = 1, .target = 0.7, RECORDER, .wanted = 10},
                                    slow = {.n_cores = 2, .target = 1, RECORDER, .wanted = 10};
        struct worker_rule x = {0};

        (void)state;
        assert_int_equal(machine_count(&busy, &x, 10), 0);
        assert_int_equal(machine_count(&one, &x, 10), 0);
        assert_int_equal(machine_count(&slow, &x, 10), 0);
}

/* Others come: two seconds at most. */
static void test_leaves_cores_to_others(void **state) {
        static const struct machine alone = {.n_cores = 4, .target = 0.7, RECORDER, .wanted = 10},
                                    busy = {.n_cores = 4,
                                            .others = 3,
                                            .target = 0.7,
                                            RECORDER,
                                            .wanted = 10};
        struct worker_rule x = {0};

        (void)state;
        machine_count(&alone, &x, 10);
        assert_int_equal(machine_count(&busy, &x, 100), 8);
        assert_int_equal(machine_count(&alone, &x, 10), 9);
}

static void test_not_without_knowing(void **state) {
        struct worker_figures f = {.took_ns = TOOK_NS, .idle_ns = TOOK_NS, .has_cores = true};
        struct worker_rule x = {0};

        (void)state;
        worker_rule_judge(&x, &f);
        assert_false(x.is_on);
        f.has_idle = true;
        worker_rule_judge(&x, &f);
        assert_true(x.is_on);
        f.has_idle = false;
        worker_rule_judge(&x, &f);
        assert_false(x.is_on);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_begins_where_a_core_is_idle),
                cmocka_unit_test(test_two_cores),
                cmocka_unit_test(test_stays_while_it_helps),
                cmocka_unit_test(test_not_where_one_thread_suffices),
                cmocka_unit_test(test_not_where_nothing_is_idle),
                cmocka_unit_test(test_leaves_cores_to_others),
                cmocka_unit_test(test_not_without_knowing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
