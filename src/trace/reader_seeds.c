/* SPDX-License-Identifier: MIT */
/* Writes the seeds of reader_fuzz: small traces of made-up programs, bodies decompressed.
 * usage: reader_seeds DIRECTORY [packed]: packed leaves the traces as the writer wrote them */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "trace/format.h"
#include "trace/testing/trace_fake.h"
#include "trace/testing/trace_plain.h"

static _Noreturn void die(const char *what) {
        fprintf(stderr, "reader_seeds: %s\n", what);
        exit(1);
}

enum { N_SEEDS = 11, FIRST_BOUNDED = 8, TOTALS = 10, BOUNDED_BYTES = 16000, MAX_BYTES = 16384 };

/* Two blocks, the first points into the second; a root to each; types and places. */
static const uint8_t graph[] = {
        2,  2,  1,  1,   9,   0,   1,    /* numbers, sequence numbers, pause, unread, unsettled */
        64, 16, 32, 48,  1,   0,   2, 4, /* blocks: distances, sizes, stacks, sequence numbers */
        8,  5,  2,  'a', 'b',            /* an owner */
        0,  1,  0,  0,   16,  32,        /* roots: kinds, owners, addresses */
        1,  0,  1,  1,                   /* edges of each node */
        17, 0,  16,                      /* (1 << 1) << 3 | into it; to the first; to the second */
        1,  0,  8,  0,   1,   'T', 1, 0, /* a type, and whose it is */
        1,  0,  2,  3,   8,              /* a container: a vector, 3 of 8 bytes */
        2,  0,  1,  8,   8,   1,   0,    /* places */
};

static void put_graph(struct trace_writer *w) {
        const struct trace_graph g = {.n_bytes = sizeof(graph)};

        if (!trace_put_graph(w, &g, graph))
                die("no graph");
}

/* One page that is resident, and nothing else. */
static const uint8_t bill[] = {
        0,    0x80, 0x20, 0x80, 0x20, 0, 0, 0, 0, 0, 0,          /* flags, page, resident */
        1,    0,                                                 /* names: "" */
        0,    0,    0,    0,    0,    0, 0, 0, 0, 0,             /* the group */
        0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, /* the heap */
        0,    0,    0,    0,    0,                               /**/
        1,    0x80, 0x20, 0x80, 0x20, 0, 0, 0,                   /* an area: where, kind, name */
        0x80, 0x20, 0,    0,    0,    0, 0, 0, 0, 0, 0,          /* its figures */
        0,    0,    0,    0,                                     /* no rows of the others */
};

static void put_bill(struct trace_writer *w) {
        const struct trace_bill b = {.time_ns = 7, .rss_bytes = 4096, .n_bytes = sizeof(bill)};

        if (!trace_put_bill(w, &b, bill))
                die("no bill");
}

static void put_ticks(struct trace_writer *w, uint32_t seed) {
        for (uint32_t i = 0; i < 4 + seed; i++)
                trace_put_tick(w, &(struct trace_tick){.time_ns = i * 2000,
                                                       .weight_ns = 1000000 + i % 2,
                                                       .stack = i % 2,
                                                       .n_samples = 1 + i % 3 / 2,
                                                       .state = i % TRACE_N_TICK_STATES});
}

static void write_trace(const char *path, uint32_t seed) {
        bool is_bounded = seed >= FIRST_BOUNDED;
        struct trace_fake_options o = {
                .seed = seed,
                .n_stacks = 2 + seed,
                .n_threads = 1 + seed % 3,
                .n_slices = is_bounded ? 60 : 2,
                .n_events = 8 + seed * 5,
                .flags = seed % 8,
                .has_child = seed % 2,
                .keep = true,
        };
        const struct trace_symbol symbols[] = {{0, "f", "a.c", 3, true, false},
                                               {0, "main", "a.c", 9, false, true}};
        const struct trace_module_names module = {0, TRACE_NAMING_SYMTAB, "/usr/lib/debug/a",
                                                  "no lines: build it with -g"};
        struct trace_names names = {symbols, 2, &module, 1};
        struct trace_meta meta = trace_fake_meta;
        struct trace_writer *w;
        struct trace_fake f;
        struct err err;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

        meta.flags = o.flags;
        if (fd < 0 || trace_writer_open(fd, &meta, &w, &err) < 0)
                die("cannot write");
        if (is_bounded)
                trace_writer_bound(w, BOUNDED_BYTES);
        trace_fake_run(&f, &o, w);
        if (seed % 4 == 0)
                put_ticks(w, seed);
        if (seed % 3 == 0)
                put_graph(w);
        if (seed % 3 != 2 && !is_bounded) /* a small bound has no room for one */
                put_bill(w);
        if (trace_writer_finish(w, &err) < 0)
                die(err.text);
        trace_writer_free(w);
        trace_fake_done(&f);
        if (seed % 2 && trace_put_names(path, &names, &err) < 0)
                die(err.text);
}

/* No events: what one call path did up to each of some moments. */
static void write_totals(const char *path) {
        const struct trace_process process = {.pid = 1, .parent = TRACE_NO_PROCESS, .exe = "/x"};
        const struct trace_module module = {.path = "/x", .size_bytes = 4096};
        struct trace_meta meta = trace_fake_meta;
        struct trace_site site = {.n_allocs = 10,
                                  .alloc_bytes = 500,
                                  .n_frees = 3,
                                  .free_bytes = 150,
                                  .peak_blocks = 7,
                                  .peak_bytes = 350};
        struct trace_counts counts = {.n_allocs = 10,
                                      .alloc_bytes = 500,
                                      .n_frees = 3,
                                      .n_complete_stacks = 10};
        struct trace_writer *w;
        struct err err;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

        meta.flags = TRACE_IS_TOTALS;
        meta.sample_bytes = 0;
        if (fd < 0 || trace_writer_open(fd, &meta, &w, &err) < 0)
                die("cannot write");
        trace_add_process(w, &process);
        trace_add_location(w, &(struct trace_location){trace_add_module(w, &module), 16});
        site.stack = trace_add_stack(w, 0, 0);
        for (uint64_t i = 1; i <= 4; i++) {
                counts.live_blocks = counts.peak_blocks = 7 * i;
                counts.live_bytes = counts.peak_bytes = 350 * i;
                counts.peak_ns = 1000 * i;
                trace_end_slice(w, 1000 * i, &site, 1, &counts, 1);
        }
        if (trace_writer_finish(w, &err) < 0)
                die(err.text);
        trace_writer_free(w);
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t n) {
        FILE *f = fopen(path, "w");

        if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
                die("cannot write");
}

/* A plain trace with one byte of its ticks after the other replaced, by little and by much: they are a small part of any trace, and
 * seldom hit by chance. */
static void alter_ticks(const char *directory, const char *from) {
        static const uint8_t values[] = {0, 127};
        static uint8_t bytes[MAX_BYTES];
        FILE *f = fopen(from, "r");
        size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0, at = 0, end;
        char path[4096];

        if (f)
                fclose(f);
        while (at + TRACE_HEADER_BYTES < n && (bytes_le32(bytes + at) != TRACE_CHUNK_MAGIC ||
                                               bytes_le32(bytes + at + 4) != TRACE_TICK))
                at++;
        if (at + TRACE_HEADER_BYTES >= n)
                die("no ticks");
        end = at + TRACE_HEADER_BYTES + bytes_le32(bytes + at + 12);
        for (size_t i = at + TRACE_VERSION_OFF; i < end && i < n; i++)
                for (size_t k = 0; k < sizeof(values); k++) {
                        uint8_t was = bytes[i];

                        bytes[i] = values[k];
                        snprintf(path, sizeof(path), "%s/ticks%zu-%zu", directory, i - at, k);
                        write_bytes(path, bytes, n);
                        bytes[i] = was;
                }
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                if (seed == TOTALS)
                        write_totals(path);
                else
                        write_trace(path, seed);
                if (argc == 2)
                        trace_make_plain(path, seed % 4 != 0, seed % 4 ? 3 : 1);
                if (argc == 2 && seed == 0)
                        alter_ticks(argv[1], path);
        }
        return 0;
}
