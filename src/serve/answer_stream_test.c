/* SPDX-License-Identifier: MIT */
/* Answers that are too large, too late, or that nobody waits for any more, while they are being written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "serve/answer_stream.h"

static unsigned n_looks, n_looks_at_most;

static bool goes_on(void *ctx, uint64_t done, uint64_t total) {
        (void)ctx;
        assert_true(done == 3 && total == 4);
        return n_looks++ < n_looks_at_most;
}

/* Writes numbers until the stream fails, or so many were written. Returns how many. */
static uint64_t write_numbers(FILE *out, uint64_t n) {
        struct json j;
        uint64_t i;

        json_init(&j, out);
        json_array(&j);
        for (i = 0; i < n && !ferror(out); i++)
                json_uint(&j, 1000000 + i % 1000000);
        if (!ferror(out))
                json_end(&j);
        return i;
}

static int write_answer(uint64_t deadline_ns, uint64_t n, struct str *ret, uint64_t *ret_n,
                        struct err *reterr) {
        struct responder_question q = {.deadline_ns = deadline_ns, .progress = goes_on};
        struct answer_stream s;
        FILE *out = answer_stream_open(&s, &q, reterr);

        assert_non_null(out);
        n_looks = 0;
        n_looks_at_most++; /* one of them is this: */
        answer_stream_progress(&s, 3, 4);
        *ret_n = write_numbers(out, n);
        return answer_stream_close(&s, out, 0, ret, reterr);
}

static void test_kept(void **state) {
        struct str text = {0};
        struct err err = {0};
        uint64_t n;

        (void)state;
        n_looks_at_most = 1000;
        assert_int_equal(write_answer(UINT64_MAX, 100000, &text, &n, &err), 0);
        assert_int_equal(text.n, 100000 * 8 + 2);
        assert_memory_equal(text.bytes, "[1000000,1000001,", 17);
        assert_string_equal(str_text(&text) + text.n - 10, ",1099999]\n");
        str_done(&text);
}

static void test_nobody_waits(void **state) {
        struct str text = {0};
        struct err err = {0};
        uint64_t n;

        (void)state;
        n_looks_at_most = 3;
        assert_int_equal(write_answer(UINT64_MAX, 100000000, &text, &n, &err), -ECANCELED);
        assert_true(n < 100000); /* four buffers */
        assert_null(text.bytes);
}

static void test_late(void **state) {
        struct str text = {0};
        struct err err = {0};
        uint64_t n;

        (void)state;
        n_looks_at_most = 1000;
        assert_int_equal(write_answer(1, 100000000, &text, &n, &err), -ETIME);
        assert_true(n < 100000);
}

static void test_too_large(void **state) {
        struct str text = {0};
        struct err err = {0};
        uint64_t n;

        (void)state;
        n_looks_at_most = 1000000;
        assert_int_equal(write_answer(UINT64_MAX, 100000000, &text, &n, &err), -E2BIG);
        assert_true(n <= ANSWER_STREAM_MAX_BYTES / 8 + 20000);
        assert_non_null(strstr(err.text, "128 MiB: ask for less"));
        assert_null(text.bytes);
}

/* What failed writes no more, and nothing is formatted in vain. */
static void test_json_stops(void **state) {
        FILE *full = fopen("/dev/full", "w");
        struct json j;

        (void)state;
        assert_non_null(full);
        setvbuf(full, NULL, _IONBF, 0);
        json_init(&j, full);
        json_array(&j);
        assert_true(ferror(full));
        for (int i = 0; i < 100; i++) {
                json_object(&j);
                json_put_string(&j, "name", "value");
                json_put_uint(&j, "n", 7);
                json_put_double(&j, "x", 1.5, 2);
                json_end(&j);
        }
        json_end(&j);
        assert_int_equal(j.depth, 0);
        fclose(full);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept),
                                           cmocka_unit_test(test_nobody_waits),
                                           cmocka_unit_test(test_late),
                                           cmocka_unit_test(test_too_large),
                                           cmocka_unit_test(test_json_stops)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
