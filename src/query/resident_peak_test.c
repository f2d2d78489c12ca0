/* SPDX-License-Identifier: MIT */
/* What was requested against what was resident: of processes of which the kernel told the most at their end, or samples did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/pages.h"
#include "query/resident_peak.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "resident_peak_test.silt"

enum { MIB = 1 << 20, ASKED_MIB = 100 };

struct story {
        unsigned before_mib, behind_mib; /* samples before and behind the block; 0: none */
        unsigned end_mib;                /* what the kernel told at the end; 0: nothing */
        unsigned touched_mib; /* what looks at the block's pages found; 0: none was made */
        bool is_child;
};

static void sample(struct fabric *f, uint32_t process, uint64_t mib) {
        if (mib)
                trace_put_sample(fabric_writer(f),
                                 &(struct trace_sample){.process = process,
                                                        .time_ns = fabric_now_ns(f),
                                                        .anon_bytes = mib * MIB});
        fabric_wait(f, 10000);
}

static void look(struct fabric *f, uint32_t process, uint32_t stack, uint64_t touched_mib) {
        struct trace_look found = {1, (uint64_t)ASKED_MIB * MIB, touched_mib * MIB};

        if (touched_mib)
                trace_put_residency(fabric_writer(f),
                                    &(struct trace_residency){.process = process,
                                                              .stack = stack,
                                                              .time_ns = fabric_now_ns(f),
                                                              .peak_ns = fabric_now_ns(f),
                                                              .now = found,
                                                              .peak = found,
                                                              .seen = found,
                                                              .max_touched_bytes =
                                                                      touched_mib * MIB});
}

/* One block of 100 MiB. */
static struct query_resident_peak ask(const struct story *s, uint64_t to_ns) {
        const struct fabric_options o = {.seed = 1, .max_processes = 2, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "a", "", 0), process = 0;
        _cleanup_(query_freep) struct query *q = NULL;
        _cleanup_(query_answer_freep) struct query_answer *answer = NULL;
        struct query_resident_peak got;
        struct query_scope scope;
        struct err e = {0};

        fabric_thread(f, 0, "main");
        if (s->is_child) {
                process = fabric_fork(f, 0);
                fabric_thread(f, process, "main");
        }
        sample(f, process, s->before_mib);
        fabric_alloc(f, process, 0, a, (uint64_t)ASKED_MIB * MIB);
        fabric_wait(f, 10000);
        look(f, process, a, s->touched_mib);
        sample(f, process, s->behind_mib);
        if (s->end_mib)
                trace_end_process(fabric_writer(f),
                                  &(struct trace_process_end){.process = process,
                                                              .ended = TRACE_ENDED_EXIT,
                                                              .end_ns = fabric_now_ns(f),
                                                              .n_threads = 1,
                                                              .peak_rss_bytes =
                                                                      (uint64_t)s->end_mib * MIB});
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        scope = (struct query_scope){.process = process, .to_ns = to_ns};
        assert_int_equal(query_ask(q, &scope, &answer, &e), 0);
        query_resident_peak(q, &answer->scope, &answer->totals, &got);
        return got;
}

static struct query_resident_peak ask_all(struct story s) {
        return ask(&s, UINT64_MAX);
}

/* Another process may have touched more after its last sample: that is behind the peak, and not exact. */
static void test_samples(void **state) {
        struct query_resident_peak got =
                ask_all((struct story){.before_mib = 2, .behind_mib = 10, .is_child = true});

        (void)state;
        assert_true(got.is_less);
        assert_false(got.is_exact);
        assert_int_equal(got.bytes, 10 * MIB);
        assert_int_equal(got.untouched_bytes, 0);
        assert_true(ask_all((struct story){.behind_mib = 65, .is_child = true}).is_less);
        assert_false(ask_all((struct story){.behind_mib = 70, .is_child = true}).is_less);
        assert_false(ask_all((struct story){.behind_mib = 90, .is_child = true}).is_less);
}

/* A sample before the block was requested tells nothing of it. */
static void test_no_evidence(void **state) {
        struct story before = {.before_mib = 2, .is_child = true}, none = {.is_child = true};
        struct story behind = {.behind_mib = 10};

        (void)state;
        assert_false(ask_all(before).is_less);
        assert_false(ask_all(none).is_less);
        assert_true(ask(&behind, UINT64_MAX).is_less);
        assert_false(ask(&behind, 15 * 1000000).is_less); /* in a window */
}

static void test_told_at_the_end(void **state) {
        struct query_resident_peak got = ask_all((struct story){.before_mib = 2, .end_mib = 12});

        (void)state;
        assert_true(got.is_less && got.is_exact);
        assert_int_equal(got.bytes, 12 * MIB);
        got = ask_all((struct story){.before_mib = 2, .end_mib = 95});
        assert_true(got.is_exact && !got.is_less);
}

static void test_looks(void **state) {
        struct story s = {.behind_mib = 10, .touched_mib = 7};

        (void)state;
        assert_int_equal(ask_all(s).untouched_bytes, (ASKED_MIB - 7) * (uint64_t)MIB);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_samples),
                cmocka_unit_test(test_no_evidence),
                cmocka_unit_test(test_told_at_the_end),
                cmocka_unit_test(test_looks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
