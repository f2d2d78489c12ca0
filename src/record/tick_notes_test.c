/* SPDX-License-Identifier: MIT */
/* A recording that is cut off at any moment has said what its samples lack, and one that is whole has said it once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/tick_notes.h"
#include "tick/ticker.h"

struct said {
        unsigned n;
        char text[2000];
};

static void say(void *ctx, const char *text) {
        struct said *s = ctx;
        size_t n = strlen(s->text);

        s->n++;
        snprintf(s->text + n, sizeof(s->text) - n, "%s\n", text);
}

static void what_is_known_at_once(void **state) {
        const struct tick_beside beside = {.off_cpu = true};
        struct ticker_stats blind = {.sees_kernel = false};
        struct tick_notes notes = {0};
        struct said first = {0}, later = {0}, last = {0};

        (void)state;
        tick_notes_go_on(&notes, &blind, &beside, say, &first);
        assert_int_equal(first.n, 2);
        assert_non_null(strstr(first.text, "time in the kernel is not in the samples"));
        assert_non_null(strstr(first.text, "where threads wait is known only"));
        blind.is_wide = true;
        tick_notes_go_on(&notes, &blind, &beside, say, &later);
        assert_int_equal(later.n, 1);
        assert_non_null(strstr(later.text, "CPU samples are of CPUs"));
        tick_notes_end(&notes, &blind, &beside, say, &last);
        assert_int_equal(last.n, 0);
}

static void what_is_counted(void **state) {
        struct ticker_stats s = {.sees_kernel = true, .sees_switches = true};
        struct tick_beside beside = {.off_cpu = true};
        struct tick_notes notes = {0};
        struct said none = {0}, first = {0}, last = {0};

        (void)state;
        tick_notes_go_on(&notes, &s, &beside, say, &none);
        assert_int_equal(none.n, 0);
        s.n_lost = 2;
        beside.n_dropped = 1;
        s.n_throttled = 5;
        tick_notes_go_on(&notes, &s, &beside, say, &first);
        assert_string_equal(
                first.text,
                "3 records of CPU samples were lost: the recorder was late\n"
                "5 times the kernel paused the samples, as they took too long (kernel.perf_event_max_sample_rate): CPU time is missing; take a lower --rate\n");
        s.n_lost = 10;
        tick_notes_go_on(&notes, &s, &beside, say, &none);
        assert_int_equal(none.n, 0);
        s.n_lost = 12;
        tick_notes_end(&notes, &s, &beside, say, &last);
        assert_string_equal(last.text,
                            "10 records of CPU samples were lost: the recorder was late\n");
}

/* For what time has no call path, each with its own reason. */
static void why_time_has_no_path(void **state) {
        struct ticker_stats s = {.sees_kernel = true,
                                 .sees_switches = true,
                                 .ns = {[TICKER_RUNS] = 1000000000}};
        struct tick_beside beside = {.off_cpu = true};
        struct tick_notes notes = {0};
        struct said ends = {0}, late = {0}, uncounted = {0}, hidden = {0};

        (void)state;
        s.unsampled_ns = 100000000;
        tick_notes_end(&notes, &s, &beside, say, &ends);
        assert_int_equal(ends.n, 1);
        assert_non_null(strstr(ends.text,
                               "before their first sample, after their last, or until they ended"));
        s.unsampled_ns = 0;
        s.late_ns = 100000000;
        tick_notes_end(&notes, &s, &beside, say, &late);
        assert_int_equal(late.n, 1);
        assert_non_null(strstr(late.text, "have the call path of a later sample"));
        s.late_ns = 0;
        s.uncounted_ns = 100000000;
        tick_notes_end(&notes, &s, &beside, say, &uncounted);
        assert_int_equal(uncounted.n, 1);
        assert_non_null(strstr(uncounted.text, "or its own time was not counted"));
        s.uncounted_ns = 0;
        s.sees_kernel = false;
        s.kernel_ns = 100000000;
        notes.has_kernel = true;
        tick_notes_end(&notes, &s, &beside, say, &hidden);
        assert_int_equal(hidden.n, 1);
        assert_non_null(strstr(hidden.text, "in the kernel by its own count"));
}

static void short_copies(void **state) {
        struct ticker_stats s = {.sees_kernel = true,
                                 .sees_switches = true,
                                 .short_stack_bytes = 8 << 10};
        struct tick_beside beside = {.off_cpu = true};
        struct tick_notes notes = {0};
        struct said first = {0}, last = {0};

        (void)state;
        tick_notes_go_on(&notes, &s, &beside, say, &first);
        assert_int_equal(first.n, 1);
        assert_non_null(strstr(first.text, "more than 8 KiB of stack lie between"));
        tick_notes_end(&notes, &s, &beside, say, &last);
        assert_int_equal(last.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_known_at_once),
                cmocka_unit_test(what_is_counted),
                cmocka_unit_test(why_time_has_no_path),
                cmocka_unit_test(short_copies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
