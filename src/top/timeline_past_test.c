/* SPDX-License-Identifier: MIT */
#include "top/timeline_past.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S 1000000000ull

static struct timeline_past past;

static void test_all_is_its_own(void **state) {
        uint64_t span_ns;

        (void)state;
        past = (struct timeline_past){0};
        assert_int_equal(timeline_past_share(&past, 80, 5 * S, 600 * S, &span_ns), 80);
        assert_int_equal(span_ns, 5 * S);
        past.span_ns = 100 * S; /* too long ago */
        assert_int_equal(timeline_past_share(&past, 80, 700 * S, 600 * S, &span_ns), 80);
        assert_int_equal(span_ns, 600 * S);
}

/* 10 s of a recording, 2 s of nothing, 8 s of the next, in columns of a second. */
static void test_the_past_is_on_the_left(void **state) {
        struct query_column columns[20];
        uint64_t span_ns;

        (void)state;
        past = (struct timeline_past){.n = 10, .span_ns = 10 * S, .gap_ns = 2 * S};
        for (size_t i = 0; i < past.n; i++)
                past.columns[i].live_bytes = 100 + i;
        assert_int_equal(timeline_past_share(&past, 20, 8 * S, 600 * S, &span_ns), 8);
        assert_int_equal(span_ns, 20 * S);
        for (size_t i = 0; i < 20; i++)
                columns[i].live_bytes = 7;
        timeline_past_fill(&past, columns, 20, 8, span_ns);
        for (size_t i = 0; i < 20; i++)
                assert_int_equal(columns[i].live_bytes, i < 10 ? 100 + i : i < 12 ? 0 : 7);
        /* its newest five seconds, where there is no room for more */
        assert_int_equal(timeline_past_share(&past, 15, 8 * S, 15 * S, &span_ns), 8);
        timeline_past_fill(&past, columns, 15, 8, span_ns);
        assert_int_equal(columns[0].live_bytes, 105);
        assert_int_equal(columns[4].live_bytes, 109);
        assert_int_equal(columns[5].live_bytes, 0);
        /* a recording that has just begun is one column */
        assert_int_equal(timeline_past_share(&past, 20, 1, 600 * S, &span_ns), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_is_its_own),
                cmocka_unit_test(test_the_past_is_on_the_left),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
