/* SPDX-License-Identifier: MIT */
/* Text, JSON and pictures of a trace whose bills are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bill/bill.h"
#include "bill/bill_summary.h"
#include "bill/bill_words.h"
#include "bill/heap_picture.h"
#include "bill/testing/bill_trace.h"

static const char path[] = "bill_test.silt";

static char *printed(const char *at, bool json) {
        struct bill_options o = BILL_OPTIONS_DEFAULT;
        struct request request = REQUEST_DEFAULT;
        struct err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        if (at)
                assert_int_equal(request_set(&request, "at", at, &err), 0);
        o.view.path = path;
        o.view.request = &request;
        o.view.json = json;
        if (bill_print(out, &o, &err) < 0)
                fail_msg("%s", err.text);
        fclose(out);
        request_done(&request);
        for (char *p = text; *p; p++) /* lines are wrapped */
                if (*p == '\n')
                        *p = ' ';
        return text;
}

static void has(const char *text, const char *what) {
        if (!strstr(text, what))
                fail_msg("'%s' is not in: %s", what, text);
}

static void test_highest(void **state) {
        char *text = printed(NULL, false);

        (void)state;
        has(text, "Resident 36.0 MiB: 32.0 MiB are live blocks");
        has(text, "at 1 s, when most was resident of 8 moments");
        has(text, "Pool::grow  pool.cc:12");
        has(text, "36.0 MiB were resident: 28.0 MiB are free");
        has(text, "not accounted for");
        free(text);
}

/* Looks at what memory was made of may miss most of it; samples do not. */
static void test_missed(void **state) {
        char *text = printed(NULL, false);

        (void)state;
        has(text, "It had 100.0 MiB at most: silt did not look then.");
        free(text);
        text = printed("5.4s", false);
        has(text, "At 5.5 s, it had 100.0 MiB: silt did not look then.");
        free(text);
        text = printed("7s", false);
        assert_null(strstr(text, "did not look"));
        free(text);
        text = printed(NULL, true);
        has(text, "\"missed\":{\"pid\":");
        has(text, "\"resident_bytes\":104857600,\"seen_bytes\":37748736}");
        free(text);
}

/* Of many processes silt may have looked at some: the sum is of these, and says so. */
static void test_unlooked(void **state) {
        char *text;

        (void)state;
        bill_trace_write_workers(path, 3, 50 << 20);
        text = printed("6s", false);
        has(text,
            "Not in it are 3 processes that silt did not look at: they had 150.0 MiB of their own.");
        has(text, "1 of the 4 processes that ran then, the others without a look, pages");
        free(text);
        text = printed("6s", true);
        has(text,
            "\"unlooked\":{\"processes\":3,\"known_processes\":3,\"anonymous_bytes\":157286400}");
        free(text);
        text = printed("3s", false); /* before they were forked */
        assert_null(strstr(text, "look at:"));
        assert_null(strstr(text, "without a look"));
        free(text);
        bill_trace_write_workers(path, 1, 1 << 20);
        text = printed("6s", false); /* too little for the first sentence */
        assert_null(strstr(text, "look at:"));
        has(text, "1 of the 2 processes that ran then, the others without a look, pages");
        free(text);
        bill_trace_write(path);
}

/* In a report: of the looks the one with most, which is not all that was ever resident. */
static void test_summary(void **state) {
        struct query *q;
        struct err err = {0};
        struct style s;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        (void)state;
        assert_int_equal(query_open(path, &q, &err), 0);
        style_init(&s, out);
        bill_summary_print(&s, q, query_names(q), QUERY_ALL, path);
        fclose(out);
        has(text, "Resident memory: 36.0 MiB after 1 s, the most of 8 looks");
        free(text);
        query_free(q);
}

static void test_fragmented(void **state) {
        char *text = printed("@end", false);

        (void)state;
        has(text,
            "The heap is 8.0 times live: 28.0 MiB are free blocks between live ones; 88 % of the pinned pages hold one block each of Session::log_line (512 B), allocated at session.cc:41.");
        has(text, "7,168 pages pinned by Session::log_line");
        free(text);
        setenv("COLUMNS", "80", 1); /* nothing of it is cut */
        text = printed("@end", false);
        setenv("COLUMNS", "120", 1);
        has(text, "in 7,168 pages pinned by   ");
        has(text, "  Session::log_line (512 B)   ");
        has(text, "  session.cc:41   ");
        free(text);
}

static void sentence(struct bill *b, bool is_closed, const char *want) {
        const struct bill_options o = {.is_closed = is_closed};
        const struct frame_names n = {0};
        struct str text = {0};

        bill_add_sentence(b, &n, &o, true, &text);
        assert_string_equal(str_text(&text), want);
        str_done(&text);
}

/* Figures of blocks that nobody knows are none of malloc's, and nothing is advised that cannot be done. */
static void test_unknown_blocks(void **state) {
        struct bill b = {.resident_bytes = 4 << 20,
                         .heap_bytes = 12 << 10,
                         .hugetlb_bytes = 512 << 20,
                         .lacks_blocks = true};

        (void)state;
        b.parts[BILL_FILES].bytes = 3 << 20;
        b.parts[BILL_HEAP].bytes = 12 << 10;
        sentence(
                &b, false,
                "Resident 4.0 MiB: 3.0 MiB are code, data and files. Far more, 512.0 MiB, are pages of hugetlbfs, which do not count as resident.");
        b.hugetlb_bytes = 0;
        b.parts[BILL_HEAP].bytes = 64 << 20;
        sentence(
                &b, false,
                "Resident 4.0 MiB: 64.0 MiB are heaps and other anonymous memory; record it with 'silt run' to see what is live in it.");
        sentence(&b, true, "Resident 4.0 MiB: 64.0 MiB are heaps and other anonymous memory.");
}

/* All parts of the array behind a key. */
static uint64_t sum_of_parts(const char *json) {
        const char *at = strstr(json, "\"parts\""), *end;
        uint64_t sum = 0;

        assert_non_null(at);
        end = strstr(at, "\"blocks\"");
        while ((at = strstr(at, "\"part\":")) && at < end) {
                at = strstr(at, "\"bytes\":");
                sum += strtoull(at + 8, NULL, 10);
        }
        return sum;
}

static void test_json_adds_up(void **state) {
        char *text = printed("@end", true);
        const char *all = strstr(text, "\"resident_bytes\":");

        (void)state;
        has(text, "\"schema\":\"silt.bill/1\"");
        assert_non_null(all);
        assert_int_equal(sum_of_parts(text), strtoull(all + 17, NULL, 10));
        assert_int_equal(sum_of_parts(text), (36u << 20));
        free(text);
}

static char *drawn(bool is_film, struct heap_result *ret) {
        struct heap_options o = HEAP_OPTIONS_DEFAULT;
        struct err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        o.view.path = path;
        o.is_film = is_film;
        if (heap_draw(out, &o, ret, &err) < 0)
                fail_msg("%s", err.text);
        fclose(out);
        return text;
}

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        for (; (text = strstr(text, what)); text++)
                n++;
        return n;
}

static void test_pictures(void **state) {
        struct heap_result result;
        char *text = drawn(false, &result);

        (void)state;
        assert_int_equal(result.n_moments, 1);
        assert_int_equal(count(text, "<title>"), BILL_TRACE_CELLS);
        has(text, HEAP_MARK);
        has(text, "most of Session::log_line");
        /* a block in several boxes is as old in each */
        assert_int_equal(count(text, ", newest at "), BILL_TRACE_CELLS);
        free(text);
        text = drawn(true, &result);
        assert_int_equal(result.n_moments, 8);
        assert_int_equal(count(text, "\"at_s\""), 8);
        has(text, "Session::log_line");
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_highest),    cmocka_unit_test(test_summary),
                cmocka_unit_test(test_fragmented), cmocka_unit_test(test_json_adds_up),
                cmocka_unit_test(test_pictures),   cmocka_unit_test(test_unknown_blocks),
                cmocka_unit_test(test_missed),     cmocka_unit_test(test_unlooked),
        };

        setenv("COLUMNS", "120", 1);
        bill_trace_write(path);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
