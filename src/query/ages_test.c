/* SPDX-License-Identifier: MIT */
/* Ages of what is alive: known ones by hand, and of made-up traces against every single block. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "query/ages.h"
#include "query/testing/brute.h"
#include "query/testing/fabric.h"
#include "query/testing/sums_trace.h"

#define TRACE_PATH "ages_test.silt"

static struct query *open_trace(void) {
        struct query *q;
        struct err e = {0};

        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        return q;
}

/* An answer whose sites have their ages. */
static struct query_answer *ask_aged(struct query *q, const struct query_scope *scope,
                                     enum query_metric m) {
        _cleanup_(query_ages_freep) struct query_ages *ages = NULL;
        struct query_answer *a;
        struct err e = {0};

        assert_int_equal(query_ask(q, scope, &a, &e), 0);
        assert_int_equal(query_ages(q, &a->scope, m, &ages, &e), 0);
        query_ages_put(ages, a, NULL, NULL);
        return a;
}

static double age_at(const struct query_answer *a, uint32_t stack, enum query_metric m) {
        double age_s = -1;

        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;

                if (a->sites[i].stack == stack)
                        query_mean_age_s(query_figure_of(f, m).bytes, false, f->aged_bytes,
                                         f->aged_byte_s, &age_s);
        }
        return age_s;
}

static void expect_near(double expected, double actual) {
        if (fabs(expected - actual) > 1e-4)
                fail_msg("%f s, not %f s", actual, expected);
}

/* a: 100 bytes at 0 s, 300 at 1 s, of which the 100 go at 4 s; b: 1000 bytes from 1 s to 3 s, when all is highest. */
static void test_known(void **state) {
        const struct fabric_options o = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0),
                 b = fabric_frame(f, 0, "/bin/x", "b", "", 0), thread;
        _cleanup_(query_answer_freep) struct query_answer *peak = NULL, *end = NULL, *at = NULL;
        _cleanup_(query_freep) struct query *q = NULL;
        uint64_t first, large, begin_ns, last_ns;
        struct query_scope scope;

        (void)state;
        thread = fabric_thread(f, 0, "main");
        first = fabric_alloc(f, 0, thread, a, 100);
        begin_ns = fabric_now_ns(f);
        fabric_wait(f, 1000000);
        fabric_alloc(f, 0, thread, a, 300);
        large = fabric_alloc(f, 0, thread, b, 1000);
        fabric_wait(f, 2000000);
        fabric_free(f, 0, thread, large);
        fabric_wait(f, 1000000);
        fabric_free(f, 0, thread, first);
        fabric_wait(f, 1000000);
        fabric_end(f);

        q = open_trace();
        scope = query_whole(q);
        last_ns = query_view(q)->end_ns;
        peak = ask_aged(q, &scope, QUERY_PEAK);
        expect_near(100.0 / 400, age_at(peak, a, QUERY_PEAK));
        expect_near(0, age_at(peak, b, QUERY_PEAK));
        end = ask_aged(q, &scope, QUERY_END);
        expect_near((double)(last_ns - begin_ns) / 1e9 - 1, age_at(end, a, QUERY_END));
        expect_near(-1, age_at(end, b, QUERY_END)); /* nothing is alive */
        scope.to_ns = begin_ns + 2500000000ull;
        at = ask_aged(q, &scope, QUERY_END);
        expect_near((100 * 2.5 + 300 * 1.5) / 400, age_at(at, a, QUERY_END));
        expect_near(1.5, age_at(at, b, QUERY_END));
}

/* ---- against every block --------------------------------------------------------------------------- */

enum { MAX_STACKS = 4096 };

struct brute {
        struct query *q;
        uint64_t at_ns;
        bool is_peak;
        double bytes[MAX_STACKS], byte_s[MAX_STACKS];
};

static bool add_block(void *ctx, const struct query_block *b) {
        struct brute *k = ctx;
        uint64_t end_ns = b->time_ns + b->age_ns;
        uint32_t process = query_view(k->q)->threads[b->thread].start.process;
        double bytes = (double)b->size_bytes * b->n_blocks;

        assert_true(b->stack < MAX_STACKS);
        if (brute_is_gone(query_view(k->q), process, k->at_ns))
                return true;
        if (b->time_ns > k->at_ns || (!k->is_peak && b->time_ns == k->at_ns))
                return true;
        if (!b->is_live && (end_ns < k->at_ns || (k->is_peak && end_ns == k->at_ns)))
                return true;
        k->bytes[b->stack] += bytes;
        k->byte_s[b->stack] += bytes * (double)(MIN(k->at_ns, end_ns) - b->time_ns) / 1e9;
        return true;
}

/* False: events of one time at the moment, which blocks alone do not tell apart. */
static bool check_scope(struct query *q, const struct query_scope *scope, enum query_metric m) {
        _cleanup_(query_answer_freep) struct query_answer *a = ask_aged(q, scope, m);
        struct brute *k = calloc(1, sizeof(*k));
        struct query_scope from_begin = {scope->process, 0, scope->to_ns};
        bool is_same = true;
        struct err e = {0};

        k->q = q;
        k->is_peak = m == QUERY_PEAK;
        k->at_ns = k->is_peak ? a->totals.peak_ns : MIN(scope->to_ns, query_view(q)->end_ns);
        assert_int_equal(query_blocks(q, &from_begin, add_block, k, &e), 0);
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_site *s = &a->sites[i];

                assert_int_equal(s->f.aged_bytes, query_figure_of(&s->f, m).bytes);
                is_same &= (double)s->f.aged_bytes == k->bytes[s->stack];
        }
        for (size_t i = 0; is_same && i < a->n_sites; i++)
                expect_near(k->byte_s[a->sites[i].stack], a->sites[i].f.aged_byte_s);
        free(k);
        return is_same;
}

static void check_trace(uint64_t seed, unsigned max_processes) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 30,
                                         .slice_events = 200,
                                         .max_processes = max_processes,
                                         .max_threads = 3,
                                         .checkpoint_every = 3,
                                         .max_step_us = 900};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        _cleanup_(query_freep) struct query *q = NULL;
        unsigned n_same = 0, n_asked = 0;

        fabric_run(f, 3000);
        fabric_end(f);
        q = open_trace();
        for (unsigned i = 0; i < 12; i++) {
                uint64_t end_ns = query_view(q)->end_ns;
                struct query_scope scope = {QUERY_ALL, i % 3 * end_ns / 7,
                                            i == 0 ? UINT64_MAX : end_ns / 2 + i * end_ns / 30};

                n_same += check_scope(q, &scope, QUERY_END);
                n_same += check_scope(q, &scope, QUERY_PEAK);
                n_asked += 2;
        }
        if (n_same < n_asked * 3 / 4)
                fail_msg("seed %u: only %u of %u moments could be compared", (unsigned)seed, n_same,
                         n_asked);
}

static void test_blocks(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 8; seed++) {
                check_trace(seed, 1);
                check_trace(seed, 4);
        }
}

/* Without events nothing has an age, and none is made up. */
static void test_unknown(void **state) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_freep) struct query *q = NULL;
        struct query_scope scope;
        double age_s;

        (void)state;
        sums_trace_write(TRACE_PATH);
        q = open_trace();
        scope = query_whole(q);
        a = ask_aged(q, &scope, QUERY_END);
        assert_true(a->n_sites > 0);
        for (size_t i = 0; i < a->n_sites; i++) {
                assert_true(a->sites[i].f.end_bytes > 0);
                assert_false(query_mean_age_s(a->sites[i].f.end_bytes, false,
                                              a->sites[i].f.aged_bytes, a->sites[i].f.aged_byte_s,
                                              &age_s));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_known),
                cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
