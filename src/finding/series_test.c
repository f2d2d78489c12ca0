/* SPDX-License-Identifier: MIT */
/* Series with known truth, drawn at random: what rises is told to rise, and as fast as it does; what keeps a level, comes
 * to rest, returns or jumps is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "finding/series.h"

/* Chance makes some lines look bent and some noise look like a line: one in a hundred may be told wrongly. */
enum { MAX_POINTS = 300, N_ROUNDS = 2000, MAX_WRONG = N_ROUNDS / 100 };

struct made {
        uint64_t random;
        unsigned n_wrong;
        double x[MAX_POINTS], y[MAX_POINTS];
        struct series s;
};

static double draw(struct made *m, double from, double to) {
        m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
        return from + (to - from) * (double)(m->random >> 11) / 9007199254740992.0;
}

/* Points in time, a third of a second to days long. */
static void begin(struct made *m) {
        double span = pow(10, draw(m, -0.5, 5.5));

        m->s = (struct series){.x = m->x, .y = m->y, .n = (size_t)draw(m, 32, MAX_POINTS)};
        for (size_t i = 0; i < m->s.n; i++)
                m->x[i] = span * (double)(i + 1) / (double)m->s.n;
}

/* Where in time a point is, from 0 to 1. */
static double when(const struct made *m, size_t i) {
        return (double)(i + 1) / (double)m->s.n;
}

static struct series_trend trend(const struct made *m) {
        struct series_trend t;

        series_trend(&m->s, &t);
        return t;
}

static void expect(struct made *m, bool is_rising) {
        struct series_trend t = trend(m);

        if ((t.shape == SERIES_RISING) == is_rising || ++m->n_wrong <= MAX_WRONG)
                return;
        print_error("told as %s: %zu points, begin %zu, rise %g, fit %g, thirds %g %g %g\n",
                    series_shape_name(t.shape), m->s.n, t.begin_idx, t.rise, t.fit, t.third[0],
                    t.third[1], t.third[2]);
        for (size_t i = 0; i < m->s.n; i++)
                print_error("%g ", m->y[i]);
        fail();
}

/* ---- what rises ------------------------------------------------------------------------------ */

/* A warm-up of any height, then a line with what comes and goes upon it. */
static void test_line(void **state) {
        struct made m = {.random = 1};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double warm = draw(&m, 0, 0.4), height = draw(&m, 0, 3), slope = draw(&m, 1, 1000);
                double noise = draw(&m, 0, 0.3) * slope;
                struct series_trend t;

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++) {
                        double at = when(&m, i);

                        m.y[i] = slope * height * MIN(at / MAX(warm, 0.001), 1) +
                                 slope * MAX(at - warm, 0) + draw(&m, 0, noise);
                }
                expect(&m, true);
                t = trend(&m);
                assert_true(t.shape != SERIES_RISING ||
                            fabs(t.slope * m.x[m.s.n - 1] / slope - 1) < 0.35);
        }
}

/* Blocks that are not released, one now and then by chance. */
static void test_rare_blocks(void **state) {
        struct made m = {.random = 2};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double size = draw(&m, 1, 10000), n_blocks = draw(&m, 20, 200), live = 0;

                begin(&m);
                m.s.quantum = size;
                for (size_t i = 0; i < m.s.n; i++) {
                        for (unsigned k = 0; k < 10; k++)
                                live += draw(&m, 0, 1) < n_blocks / (10.0 * (double)m.s.n) ? size
                                                                                           : 0;
                        m.y[i] = live;
                }
                expect(&m, true);
        }
}

/* Faster and faster is rising too. */
static void test_accelerating(void **state) {
        struct made m = {.random = 3};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double power = draw(&m, 1, 1.8);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = 1000 * pow(when(&m, i), power);
                expect(&m, true);
        }
}

/* Wild values change nothing. */
static void test_outliers(void **state) {
        struct made m = {.random = 4};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                begin(&m);
                for (size_t i = 0; i < m.s.n; i++) {
                        m.y[i] = 100 * when(&m, i);
                        if (draw(&m, 0, 1) < 0.1)
                                m.y[i] += draw(&m, 0, 1e6);
                }
                m.y[m.s.n - 1] = 100;
                expect(&m, true);
                assert_true(fabs(trend(&m).slope * m.x[m.s.n - 1] / 100 - 1) < 0.1);
        }
}

/* ---- what does not --------------------------------------------------------------------------- */

/* Builds something, then works with it. */
static void test_plateau(void **state) {
        struct made m = {.random = 5};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double built = draw(&m, 0.02, 0.75), noise = draw(&m, 0, 0.15);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = 1000 * MIN(when(&m, i) / built, 1) + draw(&m, 0, 1000 * noise);
                expect(&m, false);
        }
}

/* A cache that fills: the fewer keys are new, the slower. */
static void test_saturating(void **state) {
        struct made m = {.random = 6};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double tau = draw(&m, 0.02, 0.45);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = 1000 * (1 - exp(-when(&m, i) / tau));
                expect(&m, false);
        }
}

/* Fills up and is emptied, again and again. */
static void test_saw_tooth(void **state) {
        struct made m = {.random = 7};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double n_teeth = round % 2 ? draw(&m, 4, 20) : draw(&m, 1.7, 3);
                double base = draw(&m, 0, 1000);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = base +
                                 1000 * (when(&m, i) * n_teeth - floor(when(&m, i) * n_teeth));
                expect(&m, false);
        }
}

static void test_noise(void **state) {
        struct made m = {.random = 8};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double level = draw(&m, 0, 1000);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = level + draw(&m, 0, 100);
                expect(&m, false);
        }
}

static void test_steps(void **state) {
        struct made m = {.random = 9};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double first = draw(&m, 0, 0.99), second = draw(&m, 0, 0.99);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = 1000 * ((when(&m, i) > first) + (when(&m, i) > second));
                expect(&m, false);
        }
}

static void test_falling(void **state) {
        struct made m = {.random = 10};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = 1000 * (1 - when(&m, i)) + draw(&m, 0, 10);
                expect(&m, false);
        }
}

static void test_too_few(void **state) {
        struct made m = {.random = 11};
        struct series_spike spike;

        (void)state;
        begin(&m);
        for (size_t i = 0; i < m.s.n; i++)
                m.y[i] = (double)i;
        for (m.s.n = 0; m.s.n < SERIES_MIN_POINTS; m.s.n++) {
                assert_int_equal(trend(&m).shape, SERIES_UNKNOWN);
                assert_false(series_spike(&m.s, &spike));
        }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void test_median(void **state) {
        struct made m = {.random = 12};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                size_t n = (size_t)draw(&m, 1, round % 2 ? 12 : MAX_POINTS);
                double below = round % 3 ? 1e9 : 5, median, sorted[MAX_POINTS];

                for (size_t i = 0; i < n; i++)
                        sorted[i] = m.y[i] = floor(draw(&m, 0, below));
                qsort(sorted, n, sizeof(sorted[0]), compare);
                median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
                assert_true(series_median(m.y, n) == median);
        }
        assert_true(series_median(m.y, 0) == 0);
}

static void test_slope(void **state) {
        struct made m = {.random = 13};
        double *x = calloc(10000, sizeof(*x));

        (void)state;
        assert_non_null(x);
        for (unsigned round = 0; round < N_ROUNDS / 10; round++) {
                double slope = draw(&m, -50, 50);

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = draw(&m, 0, 1) < 0.25 ? draw(&m, -1e9, 1e9) : 7 + slope * m.x[i];
                assert_true(fabs(series_slope(&m.s) - slope) < 0.05 + fabs(slope) * 0.05);
        }
        for (size_t i = 0; i < 10000; i++) /* more points than are paired */
                x[i] = (double)i;
        assert_true(series_slope(&(struct series){x, x, 10000, 0}) == 1);
        free(x);
}

static void test_warm_up(void **state) {
        struct made m = {.random = 14};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double knee = draw(&m, 0.1, 0.55), before = draw(&m, 3, 10);
                size_t found;

                begin(&m);
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = before * MIN(when(&m, i), knee) + MAX(when(&m, i) - knee, 0);
                found = series_warm_up(&m.s, m.s.n);
                assert_true(fabs((double)found / (double)m.s.n - knee) < 0.1);
                assert_true(series_warm_up(&m.s, found / 2) <= found / 2);
        }
        for (size_t i = 0; i < m.s.n; i++)
                m.y[i] = 5 * when(&m, i);
        assert_int_equal(series_warm_up(&m.s, m.s.n), 0);
}

static void test_spike(void **state) {
        struct made m = {.random = 15};

        (void)state;
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double height = draw(&m, 200, 1e6), level = draw(&m, 0, 1e6);
                struct series_spike got;
                size_t first, n;

                begin(&m);
                n = (size_t)draw(&m, 1, (double)m.s.n / 4);
                first = (size_t)draw(&m, 0, (double)(m.s.n - n));
                for (size_t i = 0; i < m.s.n; i++)
                        m.y[i] = level + draw(&m, 0, 50) +
                                 (i >= first && i < first + n ? height : 0);
                assert_true(series_spike(&m.s, &got));
                assert_int_equal(got.begin_idx, first);
                assert_int_equal(got.end_idx, first + n);
                assert_true(fabs(got.height - height) <= 50 && fabs(got.level - level) <= 50);
                assert_true(fabs(got.share - (double)n / (double)m.s.n) < 1e-9);
        }
        for (size_t i = 0; i < m.s.n; i++)
                m.y[i] = 3;
        assert_false(series_spike(&m.s, &(struct series_spike){0}));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_line),      cmocka_unit_test(test_rare_blocks),
                cmocka_unit_test(test_outliers),  cmocka_unit_test(test_accelerating),
                cmocka_unit_test(test_plateau),   cmocka_unit_test(test_saturating),
                cmocka_unit_test(test_saw_tooth), cmocka_unit_test(test_noise),
                cmocka_unit_test(test_steps),     cmocka_unit_test(test_falling),
                cmocka_unit_test(test_too_few),   cmocka_unit_test(test_median),
                cmocka_unit_test(test_slope),     cmocka_unit_test(test_warm_up),
                cmocka_unit_test(test_spike),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
