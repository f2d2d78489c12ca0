/* SPDX-License-Identifier: MIT */
/* Sampling against the truth: the runtime's own draws and the recorder's own weights over a made-up program, a thousand
 * times, each time with other random numbers. And what --budget makes of figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "pipeline/weights.h"
#include "record/budget.h"
#include "wire/sample_draw.h"

enum { N_SEEDS = 1000, N_ALLOCS = 20000, SAMPLE_BYTES = 512 };

struct estimate {
        double bytes, blocks, bytes_var, blocks_var;
        unsigned n_samples;
};

/* Small blocks most of all, some as large as the distance and larger; sizes are the same for every seed. */
static uint64_t size_of(unsigned i) {
        static const uint64_t sizes[] = {0, 1, 16, 24, 48, 48, 64, 100, 333, 1000, 4096, 9000};
        uint64_t x = sample_mix(i + 1);

        return x % 10 < 8 ? sizes[x / 16 % 8] : sizes[x / 16 % ARRAY_SIZE(sizes)];
}

/* Those alive at one moment: a half of them. */
static bool is_kept(unsigned i) {
        return sample_mix(i ^ 0x5555) & 1;
}

static void add_sample(struct estimate *e, double n, double size_bytes) {
        e->bytes += n * size_bytes;
        e->blocks += n;
        e->bytes_var += n * (n - 1) * size_bytes * size_bytes;
        e->blocks_var += n * (n - 1);
        e->n_samples++;
}

static void simulate(uint64_t seed, struct estimate *ret_all, struct estimate *ret_kept) {
        uint64_t random = sample_mix(seed), seq = 0;
        int64_t left = sample_distance(SAMPLE_BYTES, sample_mix(random += SAMPLE_STEP));
        struct weights w = {.seed = sample_mix(~seed)};

        for (unsigned i = 0; i < N_ALLOCS; i++) {
                uint64_t size = size_of(i);
                uint32_t n;

                left -= (int64_t)sample_charge(size);
                if (left >= 0)
                        continue;
                left = sample_distance(SAMPLE_BYTES, sample_mix(random += SAMPLE_STEP));
                weights_note(&w, seq, SAMPLE_BYTES);
                n = weights_of(&w, seq++, size);
                add_sample(ret_all, n, (double)size);
                if (is_kept(i))
                        add_sample(ret_kept, n, (double)size);
        }
        weights_done(&w);
}

struct trial {
        double sum, sum_error;
        unsigned n_inside;
};

static void trial_add(struct trial *t, double got, double var, double truth) {
        t->sum += got;
        t->sum_error += sqrt(var);
        t->n_inside += fabs(got - truth) <= 1.96 * sqrt(var);
}

/* Bias under 0.5 %, an error of at most 5 % in each run, and an interval of 95 % that is one. */
static void trial_check(const struct trial *t, const char *what, double truth) {
        double bias = 100 * (t->sum / N_SEEDS / truth - 1);
        double error = 100 * t->sum_error / N_SEEDS / truth;
        double inside = 100.0 * t->n_inside / N_SEEDS;

        print_message("%s: bias %.2f %%, error %.1f %%, inside %.1f %%\n", what, bias, error,
                      inside);
        assert_true(fabs(bias) < 0.5);
        assert_true(error < 5);
        assert_true(inside >= 93 && inside <= 97);
}

static void test_estimates(void **state) {
        struct trial bytes = {0}, blocks = {0}, kept_bytes = {0}, kept_blocks = {0};
        double all_bytes = 0, live_bytes = 0, n_live = 0;

        (void)state;
        for (unsigned i = 0; i < N_ALLOCS; i++) {
                all_bytes += (double)size_of(i);
                live_bytes += is_kept(i) ? (double)size_of(i) : 0;
                n_live += is_kept(i);
        }
        for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
                struct estimate all = {0}, kept = {0};

                simulate(seed, &all, &kept);
                trial_add(&bytes, all.bytes, all.bytes_var, all_bytes);
                trial_add(&blocks, all.blocks, all.blocks_var, N_ALLOCS);
                trial_add(&kept_bytes, kept.bytes, kept.bytes_var, live_bytes);
                trial_add(&kept_blocks, kept.blocks, kept.blocks_var, n_live);
        }
        trial_check(&bytes, "bytes allocated", all_bytes);
        trial_check(&kept_bytes, "live bytes", live_bytes);
        trial_check(&blocks, "allocations", N_ALLOCS);
        trial_check(&kept_blocks, "live blocks", n_live);
}

/* The distance is exponential: its mean, and how many exceed it once, twice, four times. */
static void test_distances(void **state) {
        enum { N = 1000000 };
        unsigned n_over[3] = {0};
        double sum = 0;

        (void)state;
        for (uint64_t i = 0; i < N; i++) {
                int64_t d = sample_distance(524288, sample_mix(i * SAMPLE_STEP));

                assert_true(d >= 0);
                sum += (double)d;
                for (unsigned k = 0; k < 3; k++)
                        n_over[k] += d >= (int64_t)524288 << k;
        }
        assert_true(fabs(sum / N / 524288 - 1) < 0.004);
        for (unsigned k = 0; k < 3; k++)
                assert_true(fabs(n_over[k] / exp(-(double)(1 << k)) / N - 1) < 0.03);
        assert_int_equal(sample_distance(1000, 1), (int64_t)(1000 * 64 * M_LN2));
        assert_int_equal(sample_distance(1000, UINT64_MAX), 0);
}

/* The same block, the same number; on the mean the reciprocal of how often it is chosen. */
static void test_weights(void **state) {
        struct weights w = {.seed = 5};
        double sum = 0;

        (void)state;
        weights_note(&w, 0, 0);
        weights_note(&w, 100, 65536);
        weights_note(&w, 150, 65536);
        weights_note(&w, 200, 1024);
        assert_int_equal(w.eras.n, 3);
        assert_int_equal(weights_of(&w, 99, 10), 1);
        assert_int_equal(weights_of(&w, 100, 1 << 30), 1);
        assert_int_equal(weights_of(&w, 170, 48), weights_of(&w, 170, 48));
        assert_in_range(weights_of(&w, 199, 32), 1365, 1366);
        assert_in_range(weights_of(&w, 199, 0), 4096, 4097);
        assert_in_range(weights_of(&w, 200, 32), 21, 22);
        for (uint64_t seq = 200; seq < 100200; seq++)
                sum += weights_of(&w, seq, 700);
        assert_true(fabs(sum / 100000 - 1 / (1 - exp(-716.0 / 1024))) < 0.01);
        weights_note(&w, 200000, UINT64_MAX);
        assert_true(weights_of(&w, 200000, 0) > 1000000);
        weights_done(&w);
}

static uint64_t step(struct budget *b, struct budget_figures *f, uint64_t sample_bytes,
                     uint64_t samples_ns, uint64_t counting_ns) {
        f->time_ns = b->next_ns;
        f->n_samples += 1000000;
        f->target_ns += 1000000000 + samples_ns / 2 + counting_ns;
        f->inside_ns += samples_ns / 2;
        f->beside_ns += samples_ns - samples_ns / 2;
        f->counting_ns += counting_ns;
        return budget_step(b, f, sample_bytes);
}

static void test_budget(void **state) {
        struct budget b = {.pct = 2};
        struct budget_figures f = {0};
        uint64_t bytes = 524288;

        (void)state;
        assert_true(budget_due_ns(&(struct budget){0}) > 5);
        assert_true(budget_due_ns(&b) <= 5);
        f.time_ns = 5;
        assert_int_equal(budget_step(&b, &f, bytes), bytes); /* the first look only looks */
        assert_true(budget_due_ns(&b) > 6);
        /* what samples cost follows from their distance: it settles below the budget */
        for (int i = 0; i < 20; i++)
                bytes = step(&b, &f, bytes, (uint64_t)(1e9 * 0.2 * 524288 / (double)bytes),
                             5000000);
        assert_in_range(bytes, 524288 * 0.2 / 0.016, 524288 * 0.2 / 0.008);
        /* cheaper samples: more of them */
        for (int i = 0; i < 20; i++)
                bytes = step(&b, &f, bytes, (uint64_t)(1e9 * 0.001 * 524288 / (double)bytes), 0);
        assert_in_range(bytes, 524288 * 0.001 / 0.0205, 524288 * 0.001 / 0.011);
        /* counting alone is more than the budget: as few as there can be, and no fewer */
        for (int i = 0; i < 20; i++)
                bytes = step(&b, &f, bytes, 1000000000, 100000000);
        assert_int_equal(bytes, BUDGET_MAX_BYTES);
        for (int i = 0; i < 40; i++)
                bytes = step(&b, &f, bytes, 0, 0);
        assert_int_equal(bytes, BUDGET_MIN_BYTES);
}

/* Nothing to go by: the target slept, or a process took its sums along. */
static void test_budget_without_figures(void **state) {
        struct budget b = {.pct = 2};
        struct budget_figures f = {.target_ns = 1000000000, .beside_ns = 5};

        (void)state;
        budget_step(&b, &f, 65536);
        f.beside_ns += 900000000;
        f.n_samples += 100000;
        f.time_ns = b.next_ns;
        assert_int_equal(budget_step(&b, &f, 65536), 65536);
        assert_true(b.next_ns > f.time_ns);
        f.target_ns = 0;
        f.time_ns = b.next_ns;
        assert_int_equal(budget_step(&b, &f, 65536), 65536);
        f.target_ns = 1000000000;
        f.beside_ns += 500000000;
        f.n_samples += 100000;
        f.time_ns = b.next_ns;
        assert_true(budget_step(&b, &f, 65536) > 65536);
}

/* What the recorder does anyway is no reason for fewer samples; nor is a program that sleeps. */
static void test_budget_of_the_recorder(void **state) {
        struct budget b = {.pct = 2};
        struct budget_figures f = {.time_ns = 1}, g;
        struct budget_shares s;

        (void)state;
        budget_step(&b, &f, 65536);
        f = (struct budget_figures){1000000001, 1000000000, 1000000, 3000000, 12000000, 50};
        s = budget_shares(&b.first, &f);
        assert_true(fabs(s.samples_pct - 0.2 / 0.996) < 1e-9);
        assert_true(fabs(s.counting_pct - 0.3 / 0.996) < 1e-9);
        assert_true(fabs(s.rest_pct - 1.1 / 0.996) < 1e-9);
        assert_true(budget_step(&b, &f, 65536) < 65536);
        g = f;
        g.time_ns += 10000000000;
        g.target_ns += 30000000;
        g.beside_ns += 10000000;
        s = budget_shares(&f, &g);
        assert_true(fabs(s.rest_pct - 1) < 1e-9);
        assert_true(budget_step(&b, &g, 65536) < 65536);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_distances),
                cmocka_unit_test(test_weights),
                cmocka_unit_test(test_estimates),
                cmocka_unit_test(test_budget),
                cmocka_unit_test(test_budget_without_figures),
                cmocka_unit_test(test_budget_of_the_recorder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
