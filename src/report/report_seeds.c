/* SPDX-License-Identifier: MIT */
/* Writes the seeds of report_fuzz: small traces with forks, threads, names, mappings and samples, bodies decompressed.
 * usage: report_seeds DIRECTORY */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "query/fabric.h"
#include "trace/plain.h"
#include "trace/writer.h"

enum {
        N_SEEDS = 16,
        N_VIEWS = 16,
        CHOICE_REHASH = 1,
        CHOICE_VIEW = 2,
        CHOICE_JSON = 4,
        CHOICE_ALL = 8,
        CHOICE_FULL = 32,
        CHOICE_WINDOW = 192,
};

static void put_names(struct fabric *f) {
        static const char *const names[] = {
                "main",
                "std::vector<std::pair<int, long>, std::allocator<int> >::reserve(unsigned long)",
                "int shop::sum<int>(int, int) const::{lambda(int)#1}::operator()(int) const",
                "(anonymous namespace)::Cache::operator<<(int)",
                "shop::Cache::operator bool() const",
                "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                NULL,
        };
        uint32_t thread = fabric_thread(f, 0, "worker"), stack = 0;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                stack = fabric_frame(f, stack, i % 2 ? "/bin/x" : "/lib/libc.so.6", names[i],
                                     i % 3 ? "a.cc" : "", (uint32_t)i);
                fabric_alloc(f, 0, thread, stack, 1000 * i);
                fabric_free(f, 0, thread, fabric_alloc(f, 0, thread, stack, 50));
                fabric_wait(f, 20);
        }
}

static void put_mappings(struct fabric *f) {
        struct trace_mapping m = {.op = TRACE_MMAP,
                                  .stack = 1,
                                  .time_ns = fabric_now_ns(f),
                                  .address = 0x700000,
                                  .size_bytes = 65536};

        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_MREMAP;
        m.old_address = m.address;
        m.old_size_bytes = m.size_bytes;
        m.address = 0x900000;
        m.size_bytes *= 2;
        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_MUNMAP;
        m.address += 4096;
        m.size_bytes = 8192;
        trace_put_mapping(fabric_writer(f), &m);
        m.op = TRACE_BRK;
        trace_put_mapping(fabric_writer(f), &m);
}

static void write_trace(const char *path, unsigned seed) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 3 + seed % 4,
                                   .slice_events = 10 + seed,
                                   .max_processes = 1 + seed % 4,
                                   .max_threads = 1 + seed % 3,
                                   .checkpoint_every = seed % 3,
                                   .max_step_us = seed % 2 ? 9 : 4000,
                                   .with_paths = seed % 3 == 0};
        struct fabric *f = fabric_new(path, &o);

        if (seed % 2)
                put_names(f);
        put_mappings(f);
        fabric_run(f, 60);
        trace_put_sample(fabric_writer(f), &(struct trace_sample){.time_ns = fabric_now_ns(f),
                                                                  .anon_bytes = 1 << 20});
        trace_put_residency(fabric_writer(f), &(struct trace_residency){.stack = 1 + seed % 3,
                                                                        .time_ns = fabric_now_ns(f),
                                                                        .peak_ns = 1000,
                                                                        .now = {1, 70000, 4096},
                                                                        .peak = {2, 1 << 20, 8192},
                                                                        .seen = {3, 2 << 20, 16384},
                                                                        .max_touched_bytes = 8192});
        trace_put_note(fabric_writer(f), fabric_now_ns(f), "pid 107 not followed\033");
        fabric_run(f, 40);
        fabric_end(f);
}

/* A byte for the view and the filter, and one that asks for them. */
static void write_view(const char *path, unsigned view) {
        FILE *f;

        write_trace(path, view);
        trace_make_plain(path, view % 5 != 0, (uint8_t)view);
        f = fopen(path, "ab");
        if (!f)
                abort();
        /* each view whole, in a window, and in full of all processes; as text and as JSON */
        fputc((int)(CHOICE_REHASH | CHOICE_VIEW | (view + view / N_VIEWS) % 2 * CHOICE_JSON |
                    (view / N_VIEWS % 3 == 1 ? CHOICE_WINDOW : 0) |
                    (view / N_VIEWS % 3 == 2 ? CHOICE_ALL | CHOICE_FULL : 0)),
              f);
        fclose(f);
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                write_trace(path, seed);
                /* each way to ask once: bits 2 to 5, and some windows */
                trace_make_plain(path, seed % 5 != 0,
                                 (uint8_t)(CHOICE_REHASH | seed << 2 | (seed * 3 % 4) << 6));
        }
        for (unsigned view = 0; view < 9 * N_VIEWS; view++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/view%u", argv[1], view);
                write_view(path, view);
        }
        return 0;
}
