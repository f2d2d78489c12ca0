/* SPDX-License-Identifier: MIT */
/* What was never touched is requested, and not held: the words of the first sentence and of findings follow what was resident. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "query/testing/fabric.h"
#include "report/report_stories.h"
#include "report/testing/report_words.h"
#include "trace/writer.h"

#define TRACE_PATH "held_words_test.silt"

enum { MIB = 1 << 20 };

/* A process requests 1.2 GiB, and a sample finds so much of it resident, unless it was taken before; then it ends. */
static char *tell_when(bool is_child, bool is_early, uint64_t sampled_mib, uint64_t told_mib) {
        struct trace_sample sample = {.anon_bytes = sampled_mib * MIB};
        const struct fabric_options o = {.seed = 1, .max_processes = 2, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t a = fabric_frame(f, 0, "/bin/x", "reserve", "", 0), process = 0;

        fabric_alloc(f, 0, fabric_thread(f, 0, "main"), a, 1000);
        if (is_child) {
                process = fabric_fork(f, 0);
                fabric_thread(f, process, "main");
        }
        sample.process = process;
        sample.time_ns = fabric_now_ns(f);
        fabric_wait(f, 10000);
        fabric_alloc(f, process, 0, a, 1200ull * MIB);
        fabric_wait(f, 10000);
        if (!is_early)
                sample.time_ns = fabric_now_ns(f);
        trace_put_sample(fabric_writer(f), &sample);
        fabric_wait(f, 10000);
        trace_end_process(fabric_writer(f),
                          &(struct trace_process_end){.process = process,
                                                      .ended = TRACE_ENDED_EXIT,
                                                      .end_ns = fabric_now_ns(f),
                                                      .n_threads = 1,
                                                      .peak_rss_bytes = told_mib * MIB});
        fabric_end(f);
        return report_words(TRACE_PATH);
}

static char *tell(bool is_child, uint64_t sampled_mib, uint64_t told_mib) {
        return tell_when(is_child, false, sampled_mib, told_mib);
}

static void test_of_a_child(void **state) {
        _cleanup_free_ char *untouched = tell(true, 45, 45), *touched = tell(true, 1195, 1195);

        (void)state;
        assert_says(untouched, true, "requested nearly all of the 1.2 GiB that ");
        assert_says(untouched, true, " together had in live blocks at the peak, after ");
        assert_says(untouched, true,
                    "; no sample found more than 45.0 MiB of its memory resident. ");
        assert_says(
                untouched, true,
                ": reserve requested all of the 1.2 GiB that were live at the peak, but no sample found more "
                "than 45.0 MiB of the process resident.");
        assert_says(untouched, false, " held ");
        assert_says(touched, true, "held nearly all of the 1.2 GiB that ");
        assert_says(touched, true, " together held at the peak, after ");
        assert_says(touched, true, "reserve held all of the 1.2 GiB at the peak.");
        assert_says(touched, false, "requested");
}

/* Nobody looked after the peak: it may have touched all of it, or nothing. */
static void test_of_a_child_that_ends_at_once(void **state) {
        _cleanup_free_ char *text = tell_when(true, true, 4, 4);

        (void)state;
        assert_says(text, true, "requested nearly all of the 1.2 GiB that ");
        assert_says(
                text, true,
                "; no sample found more than 4.0 MiB of its memory resident, and none was taken after the peak. ");
        assert_says(
                text, true,
                ": reserve requested all of the 1.2 GiB that were live at the peak, but no sample found more "
                "than 4.0 MiB of the process resident, and none was taken after the peak.");
        assert_says(text, false, " held ");
}

/* Of the recorded program the kernel told at its end how much it was. */
static void test_of_the_program(void **state) {
        _cleanup_free_ char *untouched = tell(false, 20, 45), *touched = tell(false, 20, 1190);

        (void)state;
        assert_says(
                untouched, true,
                "reserve requested all of the 1.2 GiB that were live at the peak, but at most 45.0 MiB of the "
                "process was resident.");
        assert_says(touched, true, "reserve held all of the 1.2 GiB at the peak.");
}

/* The last look is long before the end: that it saw no growth since is no level, and events know better. */
static void test_of_a_kill_that_nobody_saw_coming(void **state) {
        _cleanup_free_ char *seen = NULL, *unseen = NULL;

        (void)state;
        story_of_kill(TRACE_PATH, KILL_STEADY);
        seen = report_words(TRACE_PATH);
        assert_says(seen, true, "The group grew 3.3 MiB/s over the last 1.5 s. No limit would do");
        story_of_kill(TRACE_PATH, KILL_STARVED);
        unseen = report_words(TRACE_PATH);
        assert_says(unseen, true, "; they grew 2.3 MiB/s over the last 1.43 s. No limit would do");
        assert_says(unseen, false, "had not grown");
        assert_says(unseen, false, "it needs");
}

/* The looks before and behind are a second apart: the line between them is no steady growth where events know that all came at the end. */
static void test_of_a_kill_by_a_burst(void **state) {
        _cleanup_free_ char *text = NULL;

        (void)state;
        story_of_kill(TRACE_PATH, KILL_BURST);
        text = report_words(TRACE_PATH);
        assert_says(text, true, "; they grew by 8.7 MiB over the last 188 ms. ");
        assert_says(text, true, "That was not steady: how much it would have needed is unknown.");
        assert_says(text, false, "No limit would do");
        assert_says(text, false, "MiB/s over the last");
}

/* What it freed and its allocator keeps fills the group, and no block tells of it. */
static void test_of_a_kill_without_blocks(void **state) {
        _cleanup_free_ char *empty = NULL, *full = NULL;

        (void)state;
        story_of_kill(TRACE_PATH, KILL_EMPTY);
        empty = report_words(TRACE_PATH);
        assert_says(
                empty, true,
                "At the end no block was live. At the last look, after 3 s, it had 10.0 MiB more whose allocation silt did not see");
        story_of_kill(TRACE_PATH, KILL_STARVED);
        full = report_words(TRACE_PATH);
        assert_says(full, false, "At the last look, after");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_of_a_child),
                cmocka_unit_test(test_of_a_child_that_ends_at_once),
                cmocka_unit_test(test_of_the_program),
                cmocka_unit_test(test_of_a_kill_that_nobody_saw_coming),
                cmocka_unit_test(test_of_a_kill_by_a_burst),
                cmocka_unit_test(test_of_a_kill_without_blocks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
