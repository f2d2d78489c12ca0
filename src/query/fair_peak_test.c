/* SPDX-License-Identifier: MIT */
/* The peak by halves of the samples, of a made-up program that holds one level for long: it is right in the mean, where the
 * highest point of the estimated curve is not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "query/fair_peak.h"

enum { N_TRIALS = 400, N_LIVE = 600, N_TURNS = 20 };

static uint64_t draw(uint64_t *random) {
        uint64_t x = *random += 0x9e3779b97f4a7c15ull;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

static double fraction(uint64_t *random) {
        return (double)(draw(random) >> 11) * 0x1p-53;
}

struct block {
        uint64_t seq, size_bytes;
        uint32_t n_blocks; /* 0: not chosen */
};

/* A block is chosen with 1 - exp(-size / distance), and stands for the reciprocal of it, in the mean. */
static uint32_t choose(uint64_t *random, uint64_t size_bytes, double distance) {
        double mean = -1 / expm1(-(double)size_bytes / distance);

        if (fraction(random) >= 1 / mean)
                return 0;
        return (uint32_t)floor(mean) + (fraction(random) < mean - floor(mean));
}

struct trial {
        double level, highest, error; /* of the truth, which is 1 */
};

static struct trial try_once(uint64_t seed, double distance) {
        static const uint64_t sizes[] = {16, 100, 700, 5000};
        struct block live[N_LIVE] = {0};
        uint64_t random = seed, seq = seed << 32;
        uint64_t sum = 0, highest = 0, truth = 0;
        struct fair_peak h = {0};
        double var = 0;

        for (unsigned turn = 0; turn < N_TURNS; turn++)
                for (unsigned i = 0; i < N_LIVE; i++) {
                        struct block *b = &live[i];

                        if (b->n_blocks)
                                fair_peak_take(&h, b->seq, b->size_bytes, b->n_blocks);
                        sum -= b->size_bytes * b->n_blocks;
                        b->size_bytes = sizes[i % ARRAY_SIZE(sizes)];
                        b->n_blocks = choose(&random, b->size_bytes, distance);
                        b->seq = seq++;
                        if (b->n_blocks)
                                fair_peak_add(&h, b->seq, b->size_bytes, b->n_blocks);
                        sum += b->size_bytes * b->n_blocks;
                        truth += turn == 0 ? b->size_bytes : 0;
                        highest = MAX(highest, sum);
                        fair_peak_look(&h);
                }
        for (unsigned i = 0; i < N_LIVE; i++) {
                double n = live[i].n_blocks, s = (double)live[i].size_bytes;

                var += n * (n - 1) * s * s;
        }
        return (struct trial){(double)fair_peak_level(&h) / (double)truth,
                              (double)highest / (double)truth, sqrt(var) / (double)truth};
}

/* Blocks far smaller than the distance, some like it, and most larger than it. */
static void test_level(void **state) {
        static const double distances[] = {100000, 10000, 1000};

        (void)state;
        for (unsigned d = 0; d < ARRAY_SIZE(distances); d++) {
                struct trial sum = {0};
                unsigned n_inside = 0;

                for (uint64_t seed = 1; seed <= N_TRIALS; seed++) {
                        struct trial t = try_once(seed, distances[d]);

                        sum.level += t.level / N_TRIALS;
                        sum.highest += t.highest / N_TRIALS;
                        sum.error += t.error / N_TRIALS;
                        n_inside += fabs(t.level - 1) <= 1.96 * t.error;
                }
                print_message("one in %.0f: level %+.3f, highest %+.3f errors, inside %.1f %%\n",
                              distances[d], (sum.level - 1) / sum.error,
                              (sum.highest - 1) / sum.error, 100.0 * n_inside / N_TRIALS);
                assert_true(fabs(sum.level - 1) < 0.25 * sum.error);
                assert_true(sum.highest - 1 > 1.5 * sum.error);
                assert_true(n_inside > 0.88 * N_TRIALS);
        }
}

/* Where nothing is left to chance nothing is changed; nor where both halves are highest at one moment. */
static void test_certain(void **state) {
        struct fair_peak h = {0};

        (void)state;
        fair_peak_look(&h);
        assert_int_equal(fair_peak_level(&h), 0);
        fair_peak_add(&h, 1, 1000, 1);
        fair_peak_look(&h);
        fair_peak_add(&h, 2, 33, 1);
        fair_peak_look(&h);
        fair_peak_take(&h, 1, 1000, 1);
        fair_peak_look(&h);
        assert_int_equal(fair_peak_level(&h), 1033);
        for (uint64_t seq = 3; seq < 1000; seq++) {
                fair_peak_add(&h, seq, 20000, 7);
                if (seq == 999)
                        fair_peak_look(&h);
        }
        assert_int_equal(fair_peak_level(&h), 33 + 997 * 140000);
        for (uint64_t seq = 3; seq < 1000; seq++)
                fair_peak_take(&h, seq, 20000, 7);
        assert_int_equal(h.now[0], 33);
        assert_int_equal(h.now[1], 33);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_level),
                cmocka_unit_test(test_certain),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
