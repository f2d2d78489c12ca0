/* SPDX-License-Identifier: MIT */
/* Random sums at moments, as samples make them: what is put for the maker rises, and what is live is what the source said. */
#include "import/import_totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N_RUNS = 300, N_MOMENTS = 20, N_STACKS = 6 };

static uint64_t state = 1;

static uint64_t chance(uint64_t below) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (state >> 33) % below;
}

/* Blocks and bytes, or neither. */
static struct import_total draw(const struct import_total *before, bool falls) {
        struct import_total t = *before;

        t.n_allocs += chance(50), t.alloc_bytes += chance(5000);
        t.n_frees = chance(t.n_allocs + 1), t.free_bytes = chance(t.alloc_bytes + 1);
        if (falls && chance(2)) {
                t.n_allocs -= chance(t.n_allocs - t.n_frees + 1) / 8;
                t.alloc_bytes -= chance(t.alloc_bytes - t.free_bytes + 1) / 8;
        }
        return t;
}

static void check_rises(const struct trace_maker_total *was, const struct trace_maker_total *is) {
        assert_true(is->n_allocs >= was->n_allocs && is->alloc_bytes >= was->alloc_bytes);
        assert_true(is->n_frees >= was->n_frees && is->free_bytes >= was->free_bytes);
        assert_true(is->alloc_bytes == was->alloc_bytes || is->n_allocs > was->n_allocs);
        assert_true(is->free_bytes == was->free_bytes || is->n_frees > was->n_frees);
}

static void test_estimates_rise_and_what_is_live_stays(void **ctx) {
        (void)ctx;
        for (size_t run = 0; run < N_RUNS; run++) {
                struct import_totals t = {.sample_bytes = 1 << 30};
                struct import_total said[N_STACKS] = {0};
                struct trace_maker_total was[N_STACKS] = {0};

                for (size_t moment = 0; moment < N_MOMENTS; moment++) {
                        for (uint32_t s = 0; s < N_STACKS; s++) {
                                said[s] = draw(&said[s], true);
                                assert_int_equal(import_totals_add(&t, s, &said[s]), 0);
                        }
                        assert_true(import_totals_make(&t, 0));
                        assert_int_equal(t.put.n, N_STACKS);
                        for (uint32_t s = 0; s < N_STACKS; s++) {
                                const struct trace_maker_total *is = &t.put.items[s];

                                check_rises(&was[s], is);
                                assert_int_equal(is->n_allocs - is->n_frees,
                                                 said[s].n_allocs - said[s].n_frees);
                                assert_int_equal(is->alloc_bytes - is->free_bytes,
                                                 said[s].alloc_bytes - said[s].free_bytes);
                                was[s] = *is;
                        }
                }
                import_totals_done(&t);
        }
}

/* The second moment of two, of one call path that had 100 blocks and 1,000 bytes, 50 and 500 of them freed. */
static bool takes(uint64_t sample_bytes, struct import_total second) {
        struct import_totals t = {.sample_bytes = sample_bytes};
        bool is_taken;

        import_totals_add(&t, 1, &(struct import_total){100, 1000, 50, 500});
        assert_true(import_totals_make(&t, 0));
        import_totals_add(&t, 1, &second);
        is_taken = import_totals_make(&t, 0);
        import_totals_done(&t);
        return is_taken;
}

static void test_sums_that_fall_are_refused(void **ctx) {
        (void)ctx;
        assert_true(takes(1, (struct import_total){100, 1000, 50, 500}));
        assert_true(takes(1, (struct import_total){100, 1000, 50, 499})); /* rounded */
        assert_false(takes(1, (struct import_total){100, 1000, 50, 490}));
        assert_false(takes(1, (struct import_total){90, 1000, 50, 500}));
        assert_false(takes(1, (struct import_total){10, 1000, 50, 500}));
        assert_true(takes(100, (struct import_total){90, 900, 50, 490}));
        /* beyond five standard errors */
        assert_true(takes(10, (struct import_total){60, 600, 30, 300}));
        assert_false(takes(10, (struct import_total){40, 400, 30, 300}));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_estimates_rise_and_what_is_live_stays),
                cmocka_unit_test(test_sums_that_fall_are_refused),
        };

        return cmocka_run_group_tests_name("import/totals", tests, NULL, NULL);
}
