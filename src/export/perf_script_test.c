/* SPDX-License-Identifier: MIT */
/* How many events tell one tick: readers of them count, and know no periods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

enum { PERIOD_NS = 1000000, N_MERGED = 40 };

static const char trace[] = "perf_script_test.silt";

struct told {
        unsigned n;
        unsigned long long ns;
};

static void put(struct fabric *f, enum trace_tick_state state, uint64_t weight_ns,
                uint32_t n_samples, uint32_t stack) {
        const struct trace_tick tick = {.time_ns = fabric_now_ns(f),
                                        .weight_ns = weight_ns,
                                        .stack = stack,
                                        .n_samples = n_samples,
                                        .state = (uint8_t)state};

        trace_put_tick(fabric_writer(f), &tick);
        fabric_wait(f, 1000);
}

/* What a bounded file has: old ticks merged, then single ones. One of late time is of no samples. */
static void make_trace(void) {
        const struct fabric_options o = {.seed = 1,
                                         .n_stacks = 1,
                                         .slice_events = 300,
                                         .max_processes = 1,
                                         .max_threads = 1};
        struct fabric *f = fabric_new(trace, &o);
        uint32_t first = fabric_frame(f, 0, "/bin/app", "first", "/src/app.c", 1);
        uint32_t late = fabric_frame(f, 0, "/bin/app", "late", "/src/app.c", 2);

        fabric_thread(f, 0, "main");
        fabric_wait(f, 100000);
        put(f, TRACE_ON_CPU, N_MERGED * PERIOD_NS, N_MERGED, first);
        put(f, TRACE_BLOCKED, 7 * PERIOD_NS, 3, first);
        put(f, TRACE_ON_CPU, PERIOD_NS, 1, first);
        put(f, TRACE_ON_CPU, 8 * PERIOD_NS, 0, late);
        put(f, TRACE_ON_CPU, N_MERGED * PERIOD_NS, 2, late); /* the rest of it was late */
        put(f, TRACE_BLOCKED, 5 * PERIOD_NS, 1, late);
        fabric_end(f);
}

/* Of events of one name whose innermost function this is. */
static struct told count(char *text, const char *event, const char *function) {
        struct told t = {0}, one = {0};

        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                const char *name = strstr(line, event), *weight = strstr(line, ": ");

                if (name && weight) {
                        one = (struct told){1, strtoull(weight + 1, NULL, 10)};
                } else if (one.n) {
                        t.n += strstr(line, function) != NULL;
                        t.ns += strstr(line, function) ? one.ns : 0;
                        one.n = 0;
                }
        }
        return t;
}

static void check(const char *event, const char *function, unsigned n, uint64_t ns) {
        struct request request = REQUEST_DEFAULT;
        struct export_options o = {.path = trace, .request = &request};
        struct export_told told;
        struct err err = {0};
        size_t n_bytes;
        struct told got;
        char *text;
        FILE *out = open_memstream(&text, &n_bytes);

        assert_non_null(out);
        assert_int_equal(export_format_find("perf-script", &o.format, &err), 0);
        if (export_write(out, &o, &told, &err) < 0)
                fail_msg("%s", err.text);
        export_told_done(&told);
        fclose(out);
        got = count(text, event, function);
        assert_int_equal(got.n, n);
        assert_int_equal(got.ns, ns);
        free(text);
        request_done(&request);
}

static void test_ticks_are_as_many_as_their_samples(void **state) {
        (void)state;
        make_trace();
        check("cpu-clock:", "first", N_MERGED + 1, (N_MERGED + 1) * (uint64_t)PERIOD_NS);
        check("cpu-clock:", "late", N_MERGED + 8, (N_MERGED + 8) * (uint64_t)PERIOD_NS);
        check("offcpu-time:", "first", 3, 7 * PERIOD_NS);
        check("offcpu-time:", "late", 1, 5 * PERIOD_NS);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ticks_are_as_many_as_their_samples),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
