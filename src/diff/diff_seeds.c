/* SPDX-License-Identifier: MIT */
/* Writes the seeds of diff_fuzz: two small traces behind each other, bodies decompressed.
 * usage: diff_seeds DIRECTORY */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "query/testing/fabric.h"
#include "trace/testing/trace_plain.h"

enum { N_MIXED = 96, N_SEEDS = 104, MAX_BYTES = 65535, CHOICE_ALL = 4, CHOICE_CHECK = 16 };

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

        for (unsigned i = 0; i < 200; i++) {
                uint64_t request = fabric_alloc(f, process, thread, serve, 200 + i % 7);

                fabric_alloc(f, process, thread, keep, 3000);
                fabric_free(f, process, thread, request);
                fabric_wait(f, 30000);
        }
}

static void write_trace(const char *path, unsigned seed, unsigned build) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 3 + seed % 4,
                                   .slice_events = 10 + seed,
                                   .max_processes = 1 + seed % 3,
                                   .max_threads = 1 + seed % 3,
                                   .max_step_us = seed % 2 ? 9 : 40000,
                                   .sample_bytes = seed % 6 == 4 ? 524288 : 0,
                                   .with_paths = seed % 3 == 0};
        struct fabric *f = fabric_new(path, &o);

        if (seed >= N_MIXED)
                put_leak(f);
        else if (seed % 3 == 1)
                put_waves(f, 3 + 2 * build);
        else if (seed % 4)
                put_names(f, build);
        if (seed % 3 != 1 && seed < N_MIXED)
                fabric_run(f, 20);
        fabric_end(f);
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

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
                char path[4096], part[4096];
                size_t n_first;
                FILE *out;

                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                snprintf(part, sizeof(part), "%s/part", argv[1]);
                out = fopen(path, "wb");
                if (!out)
                        return 1;
                write_trace(part, seed, 0);
                n_first = append(out, part);
                if (seed % 7) { /* else two windows of one */
                        write_trace(part, seed % 3 == 1 ? seed : seed + seed % 2, 1);
                        append(out, part);
                }
                fputc((int)(n_first & 255), out);
                fputc((int)(n_first >> 8), out);
                fputc((int)(1 | seed << 1 | (seed * 3 % 4) << 6 |
                            (seed >= N_MIXED ? CHOICE_ALL | CHOICE_CHECK : 0)) &
                              255,
                      out);
                fclose(out);
        }
        return 0;
}
