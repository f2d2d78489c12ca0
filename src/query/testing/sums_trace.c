/* SPDX-License-Identifier: MIT */
#include "query/testing/sums_trace.h"

#include <fcntl.h>
#include <stdlib.h>

#include "ledger/trace_maker.h"
#include "trace/writer.h"

static void must(int r) {
        if (r < 0)
                abort();
}

static void put_moments(struct trace_maker *m, struct trace_maker_total *t) {
        for (unsigned i = 1; i <= SUMS_N_MOMENTS; i++) {
                for (unsigned k = 0; k < 2; k++) {
                        t[k].n_allocs += 10;
                        t[k].alloc_bytes += 10 * 500 * (k + 1ull);
                        t[k].n_frees += 3;
                        t[k].free_bytes += 3 * 500 * (k + 1ull);
                }
                must(trace_maker_put_totals(m, (uint64_t)i * SUMS_STEP_NS, t, 2));
        }
}

void sums_trace_write(const char *path) {
        sums_trace_write_as(path, 0, TRACE_UNIT_BYTES);
}

void sums_trace_write_as(const char *path, uint32_t flags, uint32_t unit) {
        static const char *const args[] = {"./sums"};
        const struct trace_meta meta = {.flags = TRACE_IS_TOTALS | flags,
                                        .unit = unit,
                                        .pid = 100,
                                        .n_args = 1,
                                        .args = args};
        const struct trace_process process = {.pid = 100,
                                              .parent = TRACE_NO_PROCESS,
                                              .image = 1,
                                              .n_args = 1,
                                              .args = args,
                                              .exe = "/sums"};
        struct trace_symbol names[] = {{.function = "main", .file = "sums.c", .line = 10},
                                       {.function = "parse", .file = "sums.c", .line = 20}};
        struct trace_maker_total t[2] = {{0}, {0}};
        struct trace_writer *w = NULL;
        struct trace_maker *m = NULL;
        struct err err = {0};
        uint32_t module;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        must(fd);
        must(trace_writer_open(fd, &meta, &w, &err));
        must(trace_maker_new(w, meta.flags, &m));
        module = trace_maker_add_module(m, &(struct trace_module){.path = "/sums",
                                                                  .size_bytes = 4096});
        must(trace_maker_begin_process(m, &process, false, &t[0].process));
        for (unsigned k = 0; k < 2; k++) {
                must(trace_maker_add_location(m, &(struct trace_location){module, 16 + 16 * k},
                                              &names[k].location));
                must(trace_maker_add_stack(m, k ? t[0].stack : 0, names[k].location, &t[k].stack));
                t[k].process = t[0].process;
        }
        put_moments(m, t);
        trace_maker_finish(m, SUMS_N_MOMENTS * (uint64_t)SUMS_STEP_NS);
        must(trace_writer_finish(w, &err));
        trace_maker_free(m);
        trace_writer_free(w);
        must(trace_append_symbols(path, names, 2, &err));
}
