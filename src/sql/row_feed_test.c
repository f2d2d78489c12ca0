/* SPDX-License-Identifier: MIT */
/* Rows from another thread: all of them in order, and what happens when the reader fails, when the taker goes, or is told to stop. Built with
 * ThreadSanitizer in build-tsan. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/testing/fabric.h"
#include "sql/row_feed.h"

#define TRACE_PATH "row_feed_test.silt"

enum { FOR_EVER = 1 << 30 };

/* Counts from 0 on; each row is its number. */
struct counting {
        struct query *reader;
        uint64_t next, n, fails_at;
};

static int count_on(void *ctx, void *ret, size_t cap, struct err *reterr) {
        struct counting *k = ctx;
        uint64_t *rows = ret;
        size_t n = 0;

        if (k->next == k->fails_at)
                return err_set(reterr, -EIO, "cannot read row %llu", (unsigned long long)k->next);
        while (n < cap && k->next < k->n && k->next < k->fails_at)
                rows[n++] = k->next++;
        if (query_tell_progress(k->reader, k->next, k->n, reterr) < 0)
                return -ECANCELED;
        return (int)n;
}

struct setting {
        struct query *asked, *reader;
        struct counting counting;
        struct row_feed feed;
};

static void setting_init(struct setting *s, uint64_t n, uint64_t fails_at) {
        const struct fabric_options o = {.seed = 1,
                                         .n_stacks = 3,
                                         .max_processes = 1,
                                         .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct err e = {0};

        fabric_run(f, 10);
        fabric_end(f);
        *s = (struct setting){0};
        assert_int_equal(query_open(TRACE_PATH, &s->asked, &e), 0);
        s->reader = query_open_shared(s->asked);
        s->counting = (struct counting){s->reader, 0, n, fails_at};
        row_feed_begin(&s->feed, &(struct row_feed_source){.asked = s->asked,
                                                           .reader = s->reader,
                                                           .fill = count_on,
                                                           .ctx = &s->counting,
                                                           .row_bytes = sizeof(uint64_t)});
}

static void setting_done(struct setting *s) {
        row_feed_end(&s->feed);
        query_free(s->reader);
        query_free(s->asked);
}

/* Takes rows until there are none, or so many; what the last call returned. */
static int take(struct setting *s, uint64_t n_most, uint64_t *ret_n, struct err *reterr) {
        uint64_t expected = 0;
        const void *batch;
        int r = 1;

        while (expected < n_most && (r = row_feed_next(&s->feed, &batch, reterr)) > 0)
                for (int i = 0; i < r; i++)
                        assert_int_equal(((const uint64_t *)batch)[i], expected++);
        *ret_n = expected;
        return r;
}

static void test_all(void **state) {
        const uint64_t numbers[] = {0,
                                    1,
                                    ROW_FEED_FIRST_ROWS,
                                    ROW_FEED_FIRST_ROWS + 1,
                                    ROW_FEED_FIRST_ROWS + ROW_FEED_BATCH_ROWS,
                                    100000};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                struct setting s;
                struct err e = {0};
                const void *batch;
                uint64_t n;

                setting_init(&s, numbers[i], UINT64_MAX);
                assert_int_equal(take(&s, UINT64_MAX, &n, &e), 0);
                assert_int_equal(n, numbers[i]);
                assert_int_equal(row_feed_next(&s.feed, &batch, &e), 0); /* and stays there */
                /* a short answer had no thread */
                assert_int_equal(s.feed.has_thread, numbers[i] >= ROW_FEED_FIRST_ROWS);
                setting_done(&s);
        }
}

static void test_failure(void **state) {
        const uint64_t numbers[] = {0, ROW_FEED_FIRST_ROWS, 50000};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                struct setting s;
                struct err e = {0};
                uint64_t n;

                setting_init(&s, FOR_EVER, numbers[i]);
                assert_int_equal(take(&s, UINT64_MAX, &n, &e), -EIO);
                assert_int_equal(n, numbers[i]); /* what came before is told */
                assert_non_null(strstr(e.text, "cannot read row"));
                setting_done(&s);
        }
}

/* The taker has enough while the reader reads, or waits for a batch. */
static void test_leaving(void **state) {
        (void)state;
        for (uint64_t n_most = 0; n_most < 100000; n_most += 7777) {
                struct setting s;
                struct err e = {0};
                uint64_t n;

                setting_init(&s, FOR_EVER, UINT64_MAX);
                assert_int_equal(take(&s, n_most, &n, &e) > 0, true);
                setting_done(&s);
        }
}

static bool refuse(void *ctx, uint64_t done, uint64_t total) {
        (void)ctx, (void)done, (void)total;
        return false;
}

/* A reader that finds nothing for long: whoever waits for it is told to stop. */
static int find_nothing(void *ctx, void *ret, size_t cap, struct err *reterr) {
        struct counting *k = ctx;

        if (k->next == 0)
                return count_on(ctx, ret, MIN(cap, (size_t)ROW_FEED_FIRST_ROWS), reterr);
        while (query_tell_progress(k->reader, 0, 1, reterr) >= 0)
                ;
        return -ECANCELED;
}

static void test_stopping(void **state) {
        struct setting s;
        struct err e = {0};
        uint64_t n;

        (void)state;
        setting_init(&s, FOR_EVER, UINT64_MAX);
        s.feed.from.fill = find_nothing;
        assert_true(take(&s, ROW_FEED_FIRST_ROWS, &n, &e) > 0);
        query_set_progress(s.asked, refuse, NULL);
        assert_int_equal(take(&s, UINT64_MAX, &n, &e), -ECANCELED);
        setting_done(&s);
        /* and before there is a thread */
        setting_init(&s, FOR_EVER, UINT64_MAX);
        query_set_progress(s.asked, refuse, NULL);
        assert_int_equal(take(&s, UINT64_MAX, &n, &e), -ECANCELED);
        setting_done(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all),
                cmocka_unit_test(test_failure),
                cmocka_unit_test(test_leaving),
                cmocka_unit_test(test_stopping),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
