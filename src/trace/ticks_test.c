/* SPDX-License-Identifier: MIT */
/* Ticks come back as they were put; a bounded file gives up times of old ones and loses none. */
#include "trace/testing/trace_file.h"

enum { N_THREADS = 3, N_STACKS = 5 };

struct tick_sum {
        uint64_t weight_ns[N_THREADS][N_STACKS + 1][TRACE_N_TICK_STATES];
        uint64_t n_samples;
};

static void sum_add(struct tick_sum *s, const struct trace_tick *tick) {
        s->weight_ns[tick->thread][tick->stack][tick->state] += tick->weight_ns;
        s->n_samples += tick->n_samples;
}

static struct trace_writer *writer_new(uint64_t max_bytes) {
        struct trace_writer *w = file_writer(0);

        if (max_bytes)
                trace_writer_bound(w, max_bytes);
        trace_add_process(w, &(struct trace_process){.pid = 1, .parent = TRACE_NO_PROCESS});
        for (uint32_t i = 0; i < N_THREADS; i++)
                trace_add_thread(w, &(struct trace_thread){.tid = i + 1});
        for (uint32_t i = 0; i < N_STACKS; i++) {
                uint32_t location =
                        trace_add_location(w, &(struct trace_location){.module = UINT32_MAX,
                                                                       .offset = 4096 + i});

                trace_add_stack(w, i, location);
        }
        return w;
}

/* Draws by a generator of its own, so that runs are the same. */
static uint32_t draw(uint64_t *state, uint32_t n) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(*state >> 33) % n;
}

static void put_slice(struct trace_writer *w, uint64_t *random, uint64_t begin_ns, size_t n,
                      struct tick_sum *sum) {
        for (size_t i = 0; i < n; i++) {
                struct trace_tick tick = {.time_ns = begin_ns + draw(random, 250000) * 1000ull,
                                          .weight_ns = 1000000 + draw(random, 3) * 7,
                                          .thread = draw(random, N_THREADS),
                                          .stack = draw(random, N_STACKS + 1),
                                          .n_samples = draw(random, 3),
                                          .state = (uint8_t)draw(random, TRACE_N_TICK_STATES)};

                trace_put_tick(w, &tick);
                sum_add(sum, &tick);
        }
        assert_int_equal(trace_n_open_ticks(w), n);
        trace_end_slice(w, begin_ns + 250000000, NULL, 0, NULL, 0);
        assert_int_equal(trace_n_open_ticks(w), 0);
}

static size_t read_all(struct tick_sum *ret, size_t *ret_n_merged) {
        struct trace_reader *t = NULL;
        struct err err = {0};
        size_t n_rows = 0;

        *ret = (struct tick_sum){0};
        *ret_n_merged = 0;
        assert_int_equal(trace_reader_open(file_path, &t, &err), 0);
        assert_string_equal(trace_view(t)->damage, "");
        for (size_t i = 0; i < trace_n_tick_spans(t); i++) {
                const struct trace_tick_span *span = trace_tick_span(t, i);
                const struct trace_tick *rows;
                uint64_t last_ns = 0;
                size_t n;

                assert_int_equal(trace_read_ticks(t, i, &rows, &n, &err), 0);
                assert_int_equal(n, span->n);
                *ret_n_merged += span->is_merged;
                for (size_t k = 0; k < n; k++) {
                        assert_true(rows[k].time_ns >= span->begin_ns &&
                                    rows[k].time_ns < span->end_ns && rows[k].time_ns >= last_ns);
                        last_ns = rows[k].time_ns;
                        sum_add(ret, &rows[k]);
                }
                n_rows += n;
        }
        trace_reader_free(t);
        return n_rows;
}

static void expect_sound(void) {
        struct err err = {0};

        assert_int_equal(trace_verify(file_path, stderr, &err), 0);
}

static void record(uint64_t max_bytes, size_t n_slices, size_t n_ticks, struct tick_sum *ret) {
        struct trace_writer *w = writer_new(max_bytes);
        struct err err = {0};
        uint64_t random = 42;

        *ret = (struct tick_sum){0};
        for (size_t i = 0; i < n_slices; i++)
                put_slice(w, &random, i * 250000000ull, n_ticks, ret);
        assert_int_equal(trace_writer_finish(w, &err), 0);
        trace_writer_free(w);
}

static void test_come_back(void **state) {
        struct tick_sum put, got;
        size_t n_merged;

        record(0, 20, 700, &put);
        assert_int_equal(read_all(&got, &n_merged), 20 * 700);
        assert_int_equal(n_merged, 0);
        assert_memory_equal(&put, &got, sizeof(put));
        expect_sound();
}

static void test_bounded(void **state) {
        struct tick_sum put, got;
        struct stat st;
        size_t n_merged, n_rows;

        record(1 << 20, 400, 2000, &put);
        n_rows = read_all(&got, &n_merged);
        assert_true(n_merged > 0 && n_rows < 400 * 2000);
        assert_memory_equal(&put, &got, sizeof(put));
        assert_int_equal(stat(file_path, &st), 0);
        assert_true(st.st_size <= 1 << 20);
        expect_sound();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_come_back),
                cmocka_unit_test(test_bounded),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
