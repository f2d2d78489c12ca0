/* SPDX-License-Identifier: MIT */
/* Services drawn at random (traffic.h), half of which lose memory: whether findings and a check of growth say so, and of nothing
 * else. A few, always the same ones, in `make test`; SILT_TRAFFIC_DRAWS says how many others of each kind, SILT_TRAFFIC_FIRST or SILT_SEED
 * from which on.
 * SILT_TRAFFIC_SEED: one alone, with all that is told of it. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "diff/check.h"
#include "finding/finding.h"
#include "finding/traffic.h"

enum { FEW_DRAWS = 60 }; /* of each kind */
#define MAX_RATE 0.001
#define SURE 0.025 /* at each end of an interval */

struct verdict {
        bool is_told, is_false, is_calm, fails_check;
        char text[1000];
};

/* Whether live bytes may rise at all. */
static bool fails_check(const char *path) {
        struct check_options o = {.source = {path, &request_default}};
        enum check_status status;
        struct err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        vec_push(&o.limits, (struct limit){.kind = LIMIT_GROWTH,
                                           .unit = LIMIT_IN_BYTES_PER_S,
                                           .text = "0/s",
                                           .rate_s = 1,
                                           .rate_name = "s"});
        assert_non_null(out);
        assert_int_equal(check_print(out, &o, &status, &err), 0);
        fclose(out);
        if (getenv("SILT_TRAFFIC_SEED"))
                print_message("%s", text);
        free(text);
        vec_free(&o.limits);
        return status == CHECK_FAILED;
}

static void judge(struct traffic *t, struct verdict *v) {
        char path[64];
        struct query_answer *answer;
        struct query_scope scope;
        struct findings *found;
        struct err err = {0};
        struct query *q;
        size_t n = 0;

        snprintf(path, sizeof(path), "traffic_test.%" PRIu64 ".silt", t->seed);
        traffic_write(t, path);
        assert_int_equal(query_open(path, &q, &err), 0);
        scope = query_whole(q);
        assert_int_equal(query_ask(q, &scope, &answer, &err), 0);
        assert_int_equal(findings_make(&(struct finding_source){.q = q,
                                                                .names = query_names(q),
                                                                .answer = answer,
                                                                .whole = &answer->totals,
                                                                .complete_stacks_pct = 100,
                                                                .is_windowed = false},
                                       &found, &err),
                         0);
        *v = (struct verdict){.is_calm = true};
        for (size_t i = 0; i < found->n; i++) {
                const struct finding *x = &found->items[i];
                bool is_alarm = !strcmp(x->kind, "growing") || !strcmp(x->kind, "leak");
                bool is_culprit = t->is_leaky && (!strcmp(x->function, TRAFFIC_CULPRIT) ||
                                                  !strcmp(x->function, TRAFFIC_CALLER));
                bool is_whole = t->is_leaky && !x->has_site; /* all together rises: true */

                v->is_told |= is_alarm && is_culprit;
                v->is_false |= is_alarm && !is_culprit && !is_whole;
                v->is_calm &= !x->is_open && !is_alarm;
                if (n < sizeof(v->text) - 1)
                        n += (size_t)snprintf(v->text + n, sizeof(v->text) - n, "    %s: %s\n",
                                              x->kind, x->text);
        }
        findings_free(found);
        query_answer_free(answer);
        query_free(q);
        v->fails_check = fails_check(path);
        if (!getenv("SILT_TRAFFIC_SEED"))
                remove(path);
}

/* ---- rates ----------------------------------------------------------------------------------- */

/* The chance of at most k among n, each with chance p. */
static double at_most(unsigned k, unsigned n, double p) {
        double sum = 0;

        for (unsigned i = 0; i <= k; i++)
                sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
                           (n - i) * log1p(-p));
        return sum;
}

/* The chance for which that is `sum` (Clopper and Pearson). */
static double limit_of(unsigned k, unsigned n, double sum) {
        double low = 1e-12, high = 1 - 1e-12;

        for (unsigned i = 0; i < 100; i++) {
                double middle = (low + high) / 2;

                if (at_most(k, n, middle) > sum)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

static void print_rate(const char *what, unsigned k, unsigned n) {
        print_message("%s: %u of %u, %.4f %% (95 %%: %.4f to %.4f %%)\n", what, k, n, 100.0 * k / n,
                      k ? 100 * limit_of(k - 1, n, 1 - SURE) : 0, 100 * limit_of(k, n, SURE));
}

/* Not surely more than the rate; of the few draws of `make test`, none. */
static void expect_rare(unsigned k, unsigned n) {
        assert_true(k == 0 || (n > FEW_DRAWS * 2 && limit_of(k - 1, n, 1 - SURE) <= MAX_RATE));
}

static void test_interval(void **state) {
        (void)state;
        /* of none among n: 1 - 0.025^(1/n); of 3 among 10,000 as in tables */
        assert_true(fabs(limit_of(0, 10000, SURE) - 3.6882e-4) < 1e-7);
        assert_true(fabs(limit_of(3, 10000, SURE) - 8.7642e-4) < 1e-6);
        assert_true(fabs(limit_of(2, 10000, 1 - SURE) - 6.187e-5) < 1e-7);
}

/* ---- draws ----------------------------------------------------------------------------------- */

struct tally {
        unsigned n[2], n_missed, n_calm, n_false[2], n_passed, n_failed, n_redrawn;
        unsigned missed_by_rhythm[TRAFFIC_N_RHYTHMS], false_by_rhythm[TRAFFIC_N_RHYTHMS];
};

static void draw_one(struct tally *x, uint64_t seed, bool is_leaky) {
        static struct traffic t;
        struct verdict v;
        bool is_missed, is_shown = getenv("SILT_TRAFFIC_SEED");

        traffic_draw(&t, seed, is_leaky);
        judge(&t, &v);
        is_missed = is_leaky && !v.is_told;
        x->n[is_leaky]++;
        x->n_redrawn += t.n_redrawn;
        x->n_missed += is_missed;
        x->n_calm += is_missed && v.is_calm;
        x->n_false[is_leaky] += v.is_false;
        x->n_passed += is_leaky && !v.fails_check;
        x->n_failed += !is_leaky && v.fails_check;
        x->missed_by_rhythm[t.rhythm] += is_missed;
        x->false_by_rhythm[t.rhythm] += v.is_false;
        if (is_missed || v.is_false || is_leaky != v.fails_check || is_shown)
                print_message("%s%s%s %s\n%s",
                              is_missed ? (v.is_calm ? "missed, called harmless" : "missed") : "",
                              v.is_false ? "false" : "",
                              is_leaky && !v.fails_check   ? "passed"
                              : !is_leaky && v.fails_check ? "failed"
                                                           : "",
                              traffic_text(&t), v.text);
}

static void test_traffic(void **state) {
        const char *draws = getenv("SILT_TRAFFIC_DRAWS"), *alone = getenv("SILT_TRAFFIC_SEED");
        unsigned n = draws ? (unsigned)strtoul(draws, NULL, 10) : FEW_DRAWS;
        uint64_t first = draws ? seed_of_run() * 1000003 : 1;
        struct tally x = {0};

        (void)state;
        if (alone) {
                uint64_t seed = strtoull(alone, NULL, 10);

                draw_one(&x, seed, seed % 2);
                return;
        }
        if (draws && getenv("SILT_TRAFFIC_FIRST"))
                first = strtoull(getenv("SILT_TRAFFIC_FIRST"), NULL, 10);
        for (unsigned i = 0; i < 2 * n; i++)
                draw_one(&x, first + i, (first + i) % 2);
        print_rate("leaks missed", x.n_missed, x.n[true]);
        print_rate("leaks called harmless", x.n_calm, x.n[true]);
        print_rate("false, no leak", x.n_false[false], x.n[false]);
        print_rate("false, beside a leak", x.n_false[true], x.n[true]);
        print_rate("leaks that pass a check", x.n_passed, x.n[true]);
        print_rate("no leak, and fails a check", x.n_failed, x.n[false]);
        for (unsigned i = 0; i < TRAFFIC_N_RHYTHMS; i++)
                print_message("%s: %u missed, %u false\n",
                              traffic_rhythm_name((enum traffic_rhythm)i), x.missed_by_rhythm[i],
                              x.false_by_rhythm[i]);
        print_message("%u draws in all lacked evidence and were drawn again\n", x.n_redrawn);
        expect_rare(x.n_missed, x.n[true]);
        expect_rare(x.n_passed, x.n[true]);
        expect_rare(x.n_false[false] + x.n_false[true], x.n[false] + x.n[true]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_interval),
                cmocka_unit_test(test_traffic),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
