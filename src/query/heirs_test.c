/* SPDX-License-Identifier: MIT */
/* Blocks that outlive their process in its children, all processes together: at the edges of windows, with filters, over time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/brute_filter.h"
#include "query/testing/fabric.h"

#define TRACE_PATH "heirs_test.silt"

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

static uint64_t end_of(struct query *q, uint32_t process) {
        return query_view(q)->processes[process].end.end_ns;
}

/* All processes together: what is alive when the window begins, and that the answer says it knows. */
static uint64_t all_at(struct query *q, uint64_t time_ns) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = {QUERY_ALL, time_ns, UINT64_MAX};
        struct err e = {0};

        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_true(a->is_exact);
        return a->totals.begin_bytes;
}

/* Two heirs of a process that is over have the same two blocks. One releases its copies: the other's count from then on, not
 * only when the slice ends. */
static void check_heir_counts_at_once(bool by_maker) {
        const struct fabric_options o = {.seed = 1,
                                         .max_processes = 4,
                                         .max_threads = 1,
                                         .by_maker = by_maker,
                                         .passes_on = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0), thread, heir, other;
        _cleanup_(query_freep) struct query *q = NULL;
        uint64_t first, second, from_ns, between_ns;
        struct err e = {0};

        thread = fabric_thread(f, 0, "main");
        first = fabric_alloc(f, 0, thread, a, 100);
        second = fabric_alloc(f, 0, thread, a, 113);
        heir = fabric_fork(f, 0);
        other = fabric_fork(f, 0);
        fabric_exit(f, 0);
        fabric_wait(f, 10);
        from_ns = fabric_now_ns(f);
        thread = fabric_thread(f, heir, "main");
        fabric_free(f, heir, thread, first);
        fabric_wait(f, 10);
        between_ns = fabric_now_ns(f);
        fabric_free(f, heir, thread, second);
        fabric_wait(f, 10);
        fabric_alloc(f, other, fabric_thread(f, other, "main"), a, 7);
        fabric_end(f);

        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        assert_int_equal(all_at(q, from_ns), 213);
        assert_int_equal(all_at(q, between_ns), 213);
        assert_int_equal(all_at(q, between_ns + 5000), 213);
}

static void test_heir_counts_at_once(void **state) {
        (void)state;
        check_heir_counts_at_once(false);
        check_heir_counts_at_once(true);
}

static uint64_t sum_of_peaks(const struct query_answer *a) {
        uint64_t sum = 0;

        for (size_t i = 0; i < a->n_sites; i++)
                sum += (uint64_t)a->sites[i].f.peak_bytes;
        return sum;
}

/* A process that had released a block ends, and its child still has a copy: the sum grows by the child's. The ended one no
 * longer counts then, wherever the window ends behind that, and does where it ends or begins with it. */
static void check_heritage_at_an_edge(bool by_maker) {
        const struct fabric_options o = {.seed = 1,
                                         .max_processes = 3,
                                         .max_threads = 1,
                                         .by_maker = by_maker,
                                         .passes_on = true};
        static const uint64_t behind_ns[] = {1, 500, 1000, 5000};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0),
                 b = fabric_frame(f, 0, "/bin/x", "b", "", 0), thread, child;
        _cleanup_(query_freep) struct query *q = NULL;
        uint64_t seq, middle_ns;
        struct err e = {0};

        thread = fabric_thread(f, 0, "main");
        fabric_alloc(f, 0, thread, b, 300);
        seq = fabric_alloc(f, 0, thread, a, 1000);
        child = fabric_fork(f, 0);
        fabric_free(f, 0, thread, seq);
        fabric_wait(f, 10);
        middle_ns = fabric_now_ns(f);
        fabric_alloc(f, 0, thread, b, 50);
        fabric_exit(f, 0);
        fabric_wait(f, 10);
        fabric_free(f, child, fabric_thread(f, child, "main"), seq);
        fabric_end(f);

        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        assert_int_equal(all_at(q, end_of(q, 0)), 350);
        assert_int_equal(all_at(q, end_of(q, 0) + 1), 1300);
        for (size_t i = 0; i < ARRAY_SIZE(behind_ns); i++) {
                _cleanup_(query_answer_freep) struct query_answer *x = NULL;
                struct query_scope scope = {QUERY_ALL, middle_ns, end_of(q, 0) + behind_ns[i]};

                assert_int_equal(query_ask(q, &scope, &x, &e), 0);
                assert_true(x->is_exact);
                assert_int_equal(x->totals.end_bytes, 1300);
                assert_int_equal(x->totals.peak_bytes, 1300);
                assert_int_equal(sum_of_peaks(x), 1300);
                assert_int_equal(x->totals.peak_ns, end_of(q, 0) + 1);
        }
}

static void test_heritage_at_an_edge(void **state) {
        (void)state;
        check_heritage_at_an_edge(false);
        check_heritage_at_an_edge(true);
}

/* ---- filters and time, at random --------------------------------------------------------------- */

static bool is_selected(const struct query_answer *selected, uint32_t stack) {
        for (size_t i = 0; i < selected->n_sites; i++)
                if (selected->sites[i].stack == stack)
                        return true;
        return false;
}

/* What the call paths with such a function count, as brute force has it of everybody. */
static struct query_totals expected_of(const struct query_answer *selected,
                                       const struct query_scope *scope) {
        _cleanup_(query_answer_freep) struct query_answer *all = NULL;
        struct query_totals t = {0};
        struct err e = {0};

        assert_int_equal(brute_ask(TRACE_PATH, scope, &all, &e), 0);
        for (size_t i = 0; i < all->n_sites; i++) {
                const struct query_figures *f = &all->sites[i].f;

                if (!is_selected(selected, all->sites[i].stack))
                        continue;
                t.n_allocs += f->n_allocs;
                t.n_frees += f->n_frees;
                t.begin_bytes += (uint64_t)f->begin_bytes;
                t.peak_bytes += (uint64_t)f->peak_bytes;
                t.end_bytes += (uint64_t)f->end_bytes;
                t.end_blocks += (uint64_t)f->end_blocks;
        }
        return t;
}

static unsigned n_asked, n_unsure;

static void check_filtered(struct query *q, const struct query_answer *selected,
                           struct query_scope scope, struct query_filter *filter) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_totals t = expected_of(selected, &scope);
        struct err e = {0};

        scope.filter = filter;
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        n_asked++;
        n_unsure += !a->is_exact;
        if (!a->is_exact)
                return;
        assert_int_equal(a->totals.n_allocs, t.n_allocs);
        assert_int_equal(a->totals.n_frees, t.n_frees);
        assert_int_equal(a->totals.begin_bytes, t.begin_bytes);
        assert_int_equal(a->totals.peak_bytes, t.peak_bytes);
        assert_int_equal(a->totals.end_bytes, t.end_bytes);
        assert_int_equal(a->totals.end_blocks, t.end_blocks);
}

/* In every column the groups add up to what all together hold at its moment. */
static void check_history(struct query *q) {
        struct query_scope scope = {QUERY_ALL, 0, UINT64_MAX};
        struct query_group_options o = {.by = QUERY_BY_SITE, .metric = QUERY_PEAK};
        struct query_history *h = NULL;
        struct err e = {0};

        assert_int_equal(query_history(q, &scope, &o, 3, 23, UINT64_MAX, &h, &e), 0);
        for (size_t c = 0; c < h->n_columns; c++) {
                _cleanup_(query_answer_freep) struct query_answer *a = NULL;
                struct query_scope until = {QUERY_ALL, 0, h->at_ns[c]};
                int64_t sum = 0;

                assert_int_equal(query_ask(q, &until, &a, &e), 0);
                for (size_t g = 0; g <= h->n_groups; g++)
                        sum += h->live_bytes[g * h->n_columns + c];
                if (a->is_exact)
                        assert_int_equal(sum, a->totals.end_bytes);
        }
        query_history_free(h);
}

/* Whether a block counts in an heir is no matter of the filter, if that looks at call paths. */
static void test_filters(void **state) {
        static const char *const patterns[] = {"main", "weave", "^w", "shuttle", "."};

        (void)state;
        brute_passes_on = true;
        for (uint64_t seed = 1; seed <= 8; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 8,
                                           .slice_events = 20 + (unsigned)(seed * 7 % 90),
                                           .max_processes = 3 + (unsigned)seed % 7,
                                           .max_threads = 2,
                                           .checkpoint_every = (unsigned)seed % 4,
                                           .max_step_us = 3,
                                           .with_names = true,
                                           .by_maker = seed % 2,
                                           .passes_on = true};
                struct brute_filter by_name = {.n = 1};
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                _cleanup_(query_freep) struct query *q = NULL;
                _cleanup_(brute_lives_freep) struct brute_lives *lives = NULL;
                uint64_t random = seed;
                struct err e = {0};

                fabric_run(f, 800);
                fabric_end(f);
                assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
                assert_int_equal(brute_lives_new(TRACE_PATH, &lives, &e), 0);
                for (unsigned i = 0; i < 12; i++) {
                        const char *pattern = patterns[draw(&random, ARRAY_SIZE(patterns))];
                        _cleanup_(query_answer_freep) struct query_answer *selected = NULL;
                        struct query_scope scope = {QUERY_ALL, 0, UINT64_MAX};
                        struct query_filter *filter = query_filter_new();

                        by_name.conditions[0] =
                                (struct brute_condition){.kind = "function", .pattern = pattern};
                        selected = brute_lives_ask(lives, &scope, &by_name);
                        assert_int_equal(query_filter_add(filter, "function", pattern, &e), 0);
                        if (draw(&random, 4))
                                scope.from_ns = draw(&random, query_view(q)->end_ns);
                        if (draw(&random, 4))
                                scope.to_ns =
                                        scope.from_ns + 1 + draw(&random, query_view(q)->end_ns);
                        check_filtered(q, selected, scope, filter);
                        query_filter_free(filter);
                }
                check_history(q);
        }
        brute_passes_on = false;
        print_message("%u of %u are not known exactly\n", n_unsure, n_asked);
        assert_true(n_unsure < n_asked / 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_heir_counts_at_once),
                cmocka_unit_test(test_heritage_at_an_edge),
                cmocka_unit_test(test_filters),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
