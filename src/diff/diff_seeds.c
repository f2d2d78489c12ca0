/* SPDX-License-Identifier: MIT */
/* Writes the seeds of diff_fuzz: two small traces behind each other, bodies decompressed.
 * usage: diff_seeds DIRECTORY */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "diff/testing/diff_case.h"
#include "keep/testing/graph_trace.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "query/testing/sums_trace.h"
#include "trace/testing/trace_plain.h"
#include "trace/writer.h"

enum { N_MIXED = 96, N_LEAKS = 8, MAX_BYTES = 16384 }; /* tools/fuzz.sh cuts what is longer */

/* What a trace is about. */
enum story {
        STORY_DRAWN, /* this and that */
        STORY_WAVES,
        STORY_LEAK,
        STORY_TIME, /* blocks, and where the time went */
        STORY_TIME_ALONE,
        STORY_GRAPH,
        STORY_SUMS, /* totals */
        STORY_SUMS_TIMELESS,
        STORY_SUMS_ONCE, /* of one moment that nobody knows */
        STORY_SUMS_SAMPLES,
};

/* Two of them, and what is asked: what no draw is likely to meet. */
static const struct {
        enum story old, new;
        enum query_metric metric;
        const char *asked; /* of diff_questions */
        uint8_t choice;
} pairs[] = {
        {STORY_WAVES, STORY_WAVES, QUERY_PEAK, "", 0},
        {STORY_WAVES, STORY_WAVES, QUERY_END, "", DIFF_CASE_JSON},
        {STORY_WAVES, STORY_WAVES, QUERY_PEAK, "", DIFF_CASE_STRICT},
        {STORY_WAVES, STORY_WAVES, QUERY_PEAK, "", DIFF_CASE_CHECK | DIFF_CASE_FULL},
        {STORY_TIME, STORY_TIME, QUERY_CPU, "", 0},
        {STORY_TIME, STORY_TIME, QUERY_CPU, "", DIFF_CASE_NOTED},
        {STORY_TIME, STORY_TIME, QUERY_CPU, "function=main", DIFF_CASE_JSON},
        {STORY_TIME, STORY_TIME, QUERY_BLOCKED, "per-second", DIFF_CASE_FULL},
        {STORY_TIME, STORY_TIME, QUERY_BLOCKED, "process=100", DIFF_CASE_STRICT},
        {STORY_TIME, STORY_DRAWN, QUERY_CPU, "", 0},
        {STORY_DRAWN, STORY_TIME, QUERY_BLOCKED, "", 0},
        {STORY_TIME_ALONE, STORY_TIME_ALONE, QUERY_PEAK, "", 0},
        {STORY_TIME_ALONE, STORY_TIME_ALONE, QUERY_CPU, "", DIFF_CASE_JSON},
        {STORY_TIME_ALONE, STORY_TIME, QUERY_ALLOCATED, "", 0},
        {STORY_TIME_ALONE, STORY_DRAWN, QUERY_ALLOCATED, "", 0},
        {STORY_DRAWN, STORY_TIME_ALONE, QUERY_END, "", 0},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "site=1", 0},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "not-site=1", 0},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "per-second", 0},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "size=1..2000", 0},
        {STORY_DRAWN, STORY_DRAWN, QUERY_COUNT, "per-second", 0},
        {STORY_SUMS, STORY_SUMS, QUERY_ALLOCATED, "per-second", DIFF_CASE_JSON},
        {STORY_SUMS, STORY_SUMS_TIMELESS, QUERY_ALLOCATED, "per-second", 0},
        {STORY_SUMS, STORY_SUMS_ONCE, QUERY_PEAK, "", 0},
        {STORY_SUMS, STORY_SUMS_SAMPLES, QUERY_PEAK, "", 0},
        {STORY_SUMS_SAMPLES, STORY_SUMS_SAMPLES, QUERY_ALLOCATED, "", DIFF_CASE_NOTED},
        {STORY_TIME, STORY_TIME, QUERY_CPU, "", DIFF_CASE_CHECK},
        {STORY_TIME, STORY_TIME, QUERY_CPU, "", DIFF_CASE_CHECK | DIFF_CASE_FULL},
        {STORY_TIME, STORY_TIME, QUERY_BLOCKED, "", DIFF_CASE_CHECK | DIFF_CASE_JSON},
        {STORY_TIME_ALONE, STORY_TIME_ALONE, QUERY_CPU, "", DIFF_CASE_CHECK | DIFF_CASE_FULL},
        {STORY_DRAWN, STORY_TIME, QUERY_CPU, "", DIFF_CASE_CHECK | DIFF_CASE_FULL},
        {STORY_GRAPH, STORY_GRAPH, QUERY_PEAK, "", DIFF_CASE_CHECK | DIFF_CASE_NOTED},
        {STORY_GRAPH, STORY_GRAPH, QUERY_END, "",
         DIFF_CASE_CHECK | DIFF_CASE_NOTED | DIFF_CASE_FULL},
        {STORY_GRAPH, STORY_GRAPH, QUERY_END, "function=main", DIFF_CASE_CHECK | DIFF_CASE_NOTED},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "", DIFF_CASE_CHECK | DIFF_CASE_NOTED},
        {STORY_DRAWN, STORY_DRAWN, QUERY_PEAK, "process=x", DIFF_CASE_CHECK},
        {STORY_SUMS, STORY_SUMS, QUERY_COUNT, "", DIFF_CASE_CHECK | DIFF_CASE_FULL},
        {STORY_SUMS, STORY_SUMS_ONCE, QUERY_PEAK, "", DIFF_CASE_CHECK},
        {STORY_SUMS, STORY_SUMS_TIMELESS, QUERY_PEAK, "", DIFF_CASE_CHECK},
        {STORY_SUMS_SAMPLES, STORY_SUMS_SAMPLES, QUERY_PEAK, "", DIFF_CASE_CHECK},
        {STORY_LEAK, STORY_LEAK, QUERY_GROWTH, "function=main", DIFF_CASE_CHECK},
};

static void put_names(struct fabric *f, unsigned build) {
        static const char *const names[][2] = {
                {"main", "main"},
                {"shop::Cache<int>::insert(int)", "shop::Cache<long>::insert(long)"},
                {"f.isra.0", "f.constprop.1.cold"},
                {"sum(int)::{lambda(int)#1}::operator()(int) const",
                 "sum(int)::$_0::operator()(int) const"},
                {"app::run::{{closure}}::h0123456789abcdef",
                 "app[8f3a77e1c0b2d4e6]::run::{closure#2}"},
                {"shop::helper(unsigned long)", "helper"},
                {"f<(lambda at /a.cc:1:2)>(int) [clone .x]",
                 "(anonymous namespace)::g[abi:cxx11]()"},
                {NULL, NULL},
        };
        uint32_t thread = fabric_thread(f, 0, "worker"), stack = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                stack = fabric_frame(f, stack, i % 2 ? "/bin/x" : "/lib/libx.so.6", names[i][build],
                                     i % 3 ? "a.cc" : "", (uint32_t)i + build);
                fabric_alloc(f, 0, thread, stack, 1000 * i + 300 * build);
                fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, stack, 50));
                fabric_wait(f, 400000 * (i % 2));
        }
}

/* The same work on both sides, held for another time. */
static void put_waves(struct fabric *f, unsigned n_held) {
        uint32_t thread = fabric_thread(f, 0, "worker");
        uint32_t stack = fabric_frame(f, 0, "/bin/x", "load", "a.cc", 3);
        uint64_t held[8];

        for (unsigned i = 0; i < 24; i++) {
                if (i >= n_held)
                        fabric_free(f, 0, thread, held[i % n_held]);
                held[i % n_held] = fabric_alloc(f, 0, thread, stack, 500 + i % 3 * 400);
                fabric_wait(f, 30000);
        }
}

/* Requests of which each leaves a record, in a child that outlives nobody: what a check of growth, or of the end, is about. */
static void put_leak(struct fabric *f) {
        uint32_t process = fabric_fork(f, 0), thread = fabric_thread(f, process, "worker");
        uint32_t serve = fabric_frame(f, 0, "/bin/x", "serve", "a.cc", 3);
        uint32_t keep = fabric_frame(f, serve, "/bin/x", "keep_record", "a.cc", 9);

        for (unsigned i = 0; i < 120; i++) {
                uint64_t request = fabric_alloc(f, process, thread, serve, 200 + i % 7);

                fabric_alloc(f, process, thread, keep, 3000);
                fabric_free(f, process, thread, request);
                fabric_wait(f, 30000);
        }
}

/* Threads that run and wait, the newer ones for longer. */
static void put_time(struct fabric *f, unsigned build, bool has_blocks) {
        uint32_t thread = fabric_thread(f, 0, "worker");
        uint32_t stacks[2] = {fabric_frame(f, 0, "/bin/x", "main", "a.cc", 3), 0};

        stacks[1] = fabric_frame(f, stacks[0], "/bin/x", "load", "a.cc", 7);
        for (unsigned i = 0; i < 24; i++) {
                if (has_blocks)
                        fabric_alloc(f, 0, thread, stacks[i % 2], 100 + i);
                trace_put_tick(fabric_writer(f),
                               &(struct trace_tick){.time_ns = fabric_now_ns(f),
                                                    .weight_ns = (1 + build * (i % 2)) * 9000000,
                                                    .thread = thread,
                                                    .stack = stacks[i % 2],
                                                    .n_samples = 1,
                                                    .state = i % TRACE_N_TICK_STATES});
                fabric_wait(f, 30000);
        }
}

static void put_drawn(struct fabric *f, unsigned seed, unsigned build) {
        if (seed % 3 == 1)
                put_waves(f, 3 + 2 * build);
        else if (seed % 4)
                put_names(f, build);
        if (seed % 3 != 1)
                fabric_run(f, 20);
}

static void weave(const char *path, enum story story, unsigned seed, unsigned build) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 3 + seed % 4,
                                         .slice_events = 10 + seed,
                                         .max_processes = 1 + seed % 3,
                                         .max_threads = 1 + seed % 3,
                                         .max_step_us = seed % 2 ? 9 : 40000,
                                         .sample_bytes = seed % 6 == 4 ? 524288 : 0,
                                         .with_paths = seed % 3 == 0};
        struct fabric *f = fabric_new(path, &o);

        switch (story) {
        case STORY_WAVES: put_waves(f, 3 + 2 * build); break;
        case STORY_LEAK: put_leak(f); break;
        case STORY_TIME: put_time(f, build, true); break;
        case STORY_TIME_ALONE: put_time(f, build, false); break;
        case STORY_GRAPH:
                put_names(f, build);
                graph_trace_put_drawn(f, seed);
                break;
        default: put_drawn(f, seed, build); break;
        }
        fabric_end(f);
}

static void write_trace(const char *path, enum story story, unsigned seed, unsigned build) {
        if (story == STORY_SUMS)
                sums_trace_write(path);
        else if (story == STORY_SUMS_TIMELESS)
                sums_trace_write_as(path, TRACE_LACKS_TIME, TRACE_UNIT_BYTES);
        else if (story == STORY_SUMS_ONCE)
                sums_trace_write_as(path, TRACE_LACKS_ANY & ~TRACE_LACKS_LIVE, TRACE_UNIT_BYTES);
        else if (story == STORY_SUMS_SAMPLES)
                sums_trace_write_as(path, TRACE_LACKS_BLOCKS, TRACE_UNIT_SAMPLES);
        else
                weave(path, story, seed, build);
        trace_make_plain(path, seed % 5 != 0, 0);
}

/* Appends a file but for its last byte, which is a choice; returns how many bytes that are. */
static size_t append(FILE *out, const char *path) {
        static uint8_t bytes[MAX_BYTES];
        FILE *in = fopen(path, "rb");
        size_t n = in ? fread(bytes, 1, sizeof(bytes), in) : 0;

        if (!n || fwrite(bytes, 1, n - 1, out) != n - 1)
                abort();
        fclose(in);
        remove(path);
        return n - 1;
}

static uint8_t question_of(const char *asked) {
        for (size_t i = 0; i < ARRAY_SIZE(diff_questions); i++)
                if (strcmp(diff_questions[i], asked) == 0)
                        return (uint8_t)i;
        abort();
}

/* has_new false: two windows of one. */
static void write_seed(const char *directory, unsigned number, enum story old, enum story new,
                       bool has_new, struct diff_case c) {
        char path[4096], part[4096];
        size_t n_first;
        FILE *out;

        snprintf(path, sizeof(path), "%s/seed%u", directory, number);
        snprintf(part, sizeof(part), "%s/part", directory);
        out = fopen(path, "wb");
        if (!out)
                abort();
        write_trace(part, old, number, 0);
        n_first = append(out, part);
        if (has_new) {
                /* the same draw, or the next */
                write_trace(part, new, number % 3 == 1 ? number : number + number % 2, 1);
                append(out, part);
        }
        c.n_first[0] = (uint8_t)n_first;
        c.n_first[1] = (uint8_t)(n_first >> 8);
        c.choice |= DIFF_CASE_REHASH;
        if (fwrite(&c, sizeof(c), 1, out) != 1 || ftell(out) > MAX_BYTES || fclose(out) != 0)
                abort();
}

int main(int argc, char **argv) {
        unsigned n = 0;

        if (argc < 2)
                return 2;
        for (; n < N_MIXED; n++)
                write_seed(argv[1], n, STORY_DRAWN, STORY_DRAWN, n % 7,
                           (struct diff_case){.metric = (uint8_t)(n / 2),
                                              .asked = (uint8_t)(n * 37),
                                              .choice = (uint8_t)(n << 1 | (n * 3 % 4) << 6)});
        for (; n < N_MIXED + N_LEAKS; n++)
                write_seed(argv[1], n, STORY_LEAK, STORY_LEAK, n % 7,
                           (struct diff_case){.metric = (uint8_t)n,
                                              .asked = DIFF_CASE_PLAIN,
                                              .choice = (uint8_t)(n << 1 | DIFF_CASE_ALL |
                                                                  DIFF_CASE_CHECK)});
        for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++, n++)
                write_seed(argv[1], n, pairs[i].old, pairs[i].new, true,
                           (struct diff_case){.metric = (uint8_t)pairs[i].metric,
                                              .asked = (uint8_t)(question_of(pairs[i].asked) +
                                                                 (i % 8 ? DIFF_CASE_PLAIN : 0)),
                                              .choice = pairs[i].choice});
        return 0;
}
