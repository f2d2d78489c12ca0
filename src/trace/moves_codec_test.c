/* SPDX-License-Identifier: MIT */
/* Moves in a trace: unknown is not none, lies are found, a full disk and a bound cost none of them. */
#include <signal.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "trace/errors.h"
#include "trace/format.h"
#include "trace/moves_codec.h"
#include "trace/testing/trace_file.h"

/* Two threads, two slices. Slice 0: thread 0 allocates 100 and 200 bytes at stack 1 and releases the first (grown), thread 1
 * releases the second (foreign), thread 0 allocates 50. Slice 1: thread 0 allocates 40, releases the 50 (shrunk),
 * makes 80 of the 40 at stack 2 (grown). */
static const struct trace_move right[2][2] = {
        {{.stack = 1,
          .n_foreign_frees = 1,
          .foreign_bytes = 200,
          .n_grown = 1,
          .copied_bytes = 100,
          .grown_bytes = 200}},
        {{.stack = 1, .n_shrunk = 1},
         {.stack = 2, .n_grown = 1, .copied_bytes = 40, .grown_bytes = 80, .in_place_bytes = 40}},
};

static struct trace_writer *begin(void) {
        struct trace_writer *w = file_writer(0);

        trace_add_stack(w, 0, trace_add_location(w, &(struct trace_location){UINT32_MAX, 1}));
        trace_add_stack(w, 1, 0);
        trace_add_process(w,
                          &(struct trace_process){.pid = 1, .parent = TRACE_NO_PROCESS, .exe = ""});
        for (uint32_t i = 0; i < 2; i++)
                trace_add_thread(w, &(struct trace_thread){.process = 0, .tid = 1 + i});
        return w;
}

static void slice_0(struct trace_writer *w, const struct trace_move *moves, size_t n_moves) {
        struct trace_site s = {.stack = 1,
                               .n_allocs = 3,
                               .alloc_bytes = 350,
                               .n_frees = 2,
                               .free_bytes = 300,
                               .peak_blocks = 2,
                               .peak_bytes = 300,
                               .n_life = {2}};
        struct trace_counts c = {.n_allocs = 3,
                                 .n_frees = 2,
                                 .alloc_bytes = 350,
                                 .live_blocks = 1,
                                 .live_bytes = 50,
                                 .peak_blocks = 2,
                                 .peak_bytes = 300};

        trace_put_alloc(w, 0, 1000, 1, 100, 0);
        trace_put_alloc(w, 0, 2000, 1, 200, 0);
        trace_put_free(w, 0, 3000, 0, 1, 100, 0);
        trace_put_free(w, 1, 4000, 1, 1, 200, 0);
        trace_put_alloc(w, 0, 5000, 1, 50, 0);
        if (moves)
                trace_put_moves(w, moves, n_moves);
        trace_end_slice(w, 10000, &s, 1, &c, 1);
}

static void slice_1(struct trace_writer *w, const struct trace_move *moves, size_t n_moves) {
        struct trace_site s[] = {
                {.stack = 1,
                 .n_allocs = 1,
                 .alloc_bytes = 40,
                 .n_frees = 2,
                 .free_bytes = 90,
                 .n_temporary = 1,
                 .peak_blocks = 1,
                 .peak_bytes = 40,
                 .n_life = {2}},
                {.stack = 2, .n_allocs = 1, .alloc_bytes = 80, .n_reallocs = 1},
        };
        struct trace_counts c = {.n_allocs = 2,
                                 .n_frees = 2,
                                 .n_reallocs = 1,
                                 .alloc_bytes = 120,
                                 .n_temporary = 1,
                                 .live_blocks = 1,
                                 .live_bytes = 80,
                                 .peak_blocks = 2,
                                 .peak_bytes = 90};

        trace_put_alloc(w, 0, 11000, 1, 40, 0);
        trace_put_free(w, 0, 12000, 2, 1, 50, 0);
        trace_put_realloc(w, 0, 13000, 3, 1, 40, 2, 80, 0);
        if (moves)
                trace_put_moves(w, moves, n_moves);
        trace_end_slice(w, 20000, s, 2, &c, 1);
}

static void end(struct trace_writer *w) {
        trace_writer_finish(w, NULL);
        trace_writer_free(w);
}

static void write_all(const struct trace_move *first, size_t n_first,
                      const struct trace_move *second, size_t n_second) {
        struct trace_writer *w = begin();

        slice_0(w, first, n_first);
        slice_1(w, second, n_second);
        end(w);
}

static size_t read_slice(struct trace_reader *t, size_t i, struct trace_move ret[2]) {
        const struct trace_move *rows;
        struct err err = {0};
        size_t n;

        if (trace_read_moves(t, i, &rows, &n, &err) < 0)
                fail_msg("%s", err.text);
        assert_in_range(n, 0, 2);
        for (size_t k = 0; k < n; k++)
                ret[k] = rows[k];
        return n;
}

static void test_truth(void **state) {
        struct trace_move rows[2] = {right[1][1], right[1][0]}; /* any order */
        struct trace_reader *t;

        write_all(right[0], 1, rows, 2);
        file_expect_valid();
        t = file_reader();
        assert_true(trace_view(t)->knows_moves);
        assert_int_equal(read_slice(t, 0, rows), 1);
        assert_memory_equal(rows, right[0], sizeof(rows[0]));
        assert_int_equal(read_slice(t, 1, rows), 2);
        assert_memory_equal(rows, right[1], sizeof(rows));
        trace_reader_free(t);
}

/* Nobody said anything: valid, and not the same as none. */
static void test_unknown(void **state) {
        struct trace_move rows[2];
        struct trace_reader *t;

        write_all(NULL, 0, NULL, 0);
        file_expect_valid();
        t = file_reader();
        assert_false(trace_view(t)->knows_moves);
        assert_int_equal(read_slice(t, 0, rows), 0);
        trace_reader_free(t);
}

static void expect_error(int error, const char *words) {
        char text[4096], start[16];

        snprintf(start, sizeof(start), "T%d ", error);
        assert_int_equal(file_verify(text, sizeof(text)), 1);
        if (strncmp(text, start, strlen(start)) != 0 || !strstr(text, words))
                fail_msg("expected %s … %s, got %s", start, words, text);
}

static void test_none_where_some_were(void **state) {
        const struct trace_move zero = {.stack = 1};
        struct trace_reader *t;

        write_all(&zero, 1, right[1], 2); /* a row of nothing is no row, but the chunk stands */
        t = file_reader();
        assert_true(trace_view(t)->knows_moves);
        trace_reader_free(t);
        expect_error(13, "n_foreign_frees is 0, should be 1");
        write_all(right[0], 1, &zero, 0);
        expect_error(13, "n_grown is 0, should be 1");
        write_all(NULL, 0, right[1], 2);
        expect_error(11, "the first slice has no MOVE");
}

/* The events do not tell which releases were part of one of many, and exchanged nothing; what realloc did they do tell. */
static void test_released_with_others(void **state) {
        const struct trace_move foreign = {.stack = 1, .n_foreign_frees = 1, .foreign_bytes = 200};
        struct trace_move second[2] = {right[1][1], {.stack = 1, .n_shrunk = 2}};

        write_all(&foreign, 1, &right[1][1], 1);
        file_expect_valid();
        write_all(&foreign, 1, &right[1][0], 1);
        expect_error(13, "n_grown is 0, should be 1");
        write_all(&foreign, 1, second, 2);
        expect_error(13, "n_shrunk is 2, should be 1");
}

/* Each field, one too many: what the events say, or what can be. */
static void test_lies(void **state) {
        static const struct {
                size_t off;
                uint64_t by;
                const char *words;
        } lies[] = {
                {offsetof(struct trace_move, n_foreign_frees), 1, "n_foreign_frees"},
                {offsetof(struct trace_move, n_foreign_frees), 2, "by other threads"},
                {offsetof(struct trace_move, foreign_bytes), 1, "foreign_bytes"},
                {offsetof(struct trace_move, foreign_bytes), 101, "by other threads"},
                {offsetof(struct trace_move, n_grown), 1, "n_grown"},
                {offsetof(struct trace_move, n_grown), 100, "did not grow"},
                {offsetof(struct trace_move, copied_bytes), 1, "copied_bytes"},
                {offsetof(struct trace_move, copied_bytes), 100, "did not grow"},
                {offsetof(struct trace_move, grown_bytes), 1, "grown_bytes"},
                {offsetof(struct trace_move, n_shrunk), 1, "n_shrunk"},
                {offsetof(struct trace_move, in_place_bytes), 101, "did not grow"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
                struct trace_move wrong = right[0][0];

                *(uint64_t *)((char *)&wrong + lies[i].off) += lies[i].by;
                write_all(&wrong, 1, right[1], 2);
                expect_error(13, lies[i].words);
        }
}

/* What the disk had no room for is added up. */
static void test_disk_full(void **state) {
        struct rlimit limit = {sizeof(struct trace_meta), RLIM_INFINITY};
        struct trace_writer *w;
        struct trace_move rows[2];
        struct trace_reader *t;

        signal(SIGXFSZ, SIG_IGN);
        w = begin();
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        slice_0(w, right[0], 1);
        limit.rlim_cur = RLIM_INFINITY;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        slice_1(w, right[1], 2);
        end(w);
        file_expect_valid();
        t = file_reader();
        assert_int_equal(trace_view(t)->n_slices, 2);
        assert_false(trace_slice(t, 0)->has_events);
        assert_true(trace_view(t)->knows_moves);
        assert_int_equal(read_slice(t, 0, rows), 1);
        assert_memory_equal(rows, right[0], sizeof(rows[0]));
        assert_int_equal(read_slice(t, 1, rows), 2);
        trace_reader_free(t);
}

/* Smaller copies of a recording without moves still know that there were none. */
static void test_bound(void **state) {
        struct trace_writer *w = begin();
        struct trace_site s = {.stack = 1, .n_allocs = 50, .alloc_bytes = 50};
        struct trace_counts c = {.n_allocs = 50, .alloc_bytes = 50};
        struct trace_move rows[2];
        struct trace_reader *t;

        s.peak_blocks = s.peak_bytes = s.all_peak_blocks = s.all_peak_bytes = 50;
        trace_writer_bound(w, 40000);
        for (uint64_t i = 0; i < 1000; i++) {
                for (uint64_t k = 0; k < 50; k++)
                        trace_put_alloc(w, 0, i * 100000 + k * 1000, 1, 1, 0);
                c.live_blocks = c.live_bytes = c.peak_blocks = c.peak_bytes = (i + 1) * 50;
                trace_put_moves(w, NULL, 0);
                trace_end_slice(w, i * 100000 + 90000, &s, 1, &c, 1);
        }
        assert_true(trace_writer_n_thinned(w) > 1);
        end(w);
        file_expect_valid();
        t = file_reader();
        assert_true(trace_slice(t, 0)->is_dropped);
        assert_true(trace_view(t)->knows_moves);
        assert_int_equal(read_slice(t, 0, rows), 0);
        trace_reader_free(t);
}

/* The chunk's body, by the document. */
static void test_bytes(void **state) {
        static const uint8_t want[] = {
                0x02, 0x1f, 0x01, 0xc8, 0x01, 0x01, 0x64, 0xc8, 0x01, /* process 0, stack 1 */
                0x00, 0x20, 0x03,                                     /* stack 2: n_shrunk 3 */
                0x0b, 0x01, 0x40, 0x07, /* stack 5, two processes on: in_place_bytes 7 */
        };
        const struct trace_move rows[] = {
                {.process = 2, .stack = 5, .in_place_bytes = 7},
                {.stack = 2, .n_shrunk = 3},
                right[0][0],
        };
        trace_move_vec got = {0};
        struct bytes_reader r;
        bytes_buf out = {0};

        trace_encode_moves(&out, rows, 3);
        assert_int_equal(out.n, sizeof(want));
        assert_memory_equal(out.items, want, sizeof(want));
        r = bytes_reader_of(out.items, out.n);
        assert_int_equal(trace_decode_moves(&r, 3, 3, 6, &got), 0);
        assert_memory_equal(&got.items[2], &rows[0], sizeof(rows[0]));
        r = bytes_reader_of(out.items, out.n);
        assert_int_equal(trace_decode_moves(&r, 3, 2, 6, &got), TRACE_E_BAD_ID);
        r = bytes_reader_of(out.items, out.n);
        assert_int_equal(trace_decode_moves(&r, 3, 3, 5, &got), TRACE_E_BAD_ID);
        r = bytes_reader_of(out.items, out.n - 1);
        assert_int_equal(trace_decode_moves(&r, 3, 3, 6, &got), TRACE_E_BAD_PAYLOAD);
        r = bytes_reader_of(out.items, out.n);
        assert_int_equal(trace_decode_moves(&r, 2, 3, 6, &got), TRACE_E_BAD_PAYLOAD);
        out.items[1] = 0; /* a row that says nothing; then one with a field that is not known */
        r = bytes_reader_of(out.items, out.n);
        assert_int_equal(trace_decode_moves(&r, 3, 3, 6, &got), TRACE_E_BAD_PAYLOAD);
        out.items[10] = 0x80;
        r = bytes_reader_of(out.items + 9, 3);
        assert_int_equal(trace_decode_moves(&r, 1, 3, 6, &got), TRACE_E_BAD_PAYLOAD);
        vec_free(&out);
        vec_free(&got);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_truth),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_released_with_others),
                cmocka_unit_test(test_lies),
                cmocka_unit_test(test_none_where_some_were),
                cmocka_unit_test(test_disk_full),
                cmocka_unit_test(test_bound),
                cmocka_unit_test(test_bytes),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
