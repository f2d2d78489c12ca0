/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace:
 *  - reader and verifier survive them, with no more memory than docs/trace-format.md allows
 *  - what the verifier finds nothing wrong with the reader reads without an error
 *  - what could be opened can be opened after symbols were appended, and holds the same
 *  - as the body of a chunk, with columns of any lengths, they are read as they were written
 *
 * The last byte chooses: bit 0 makes the checksums right first, so that what lies behind them is reached; bit 1
 * appends symbols, and packs them. Seeds come from reader_seeds.c, with plain bodies, since a change to a compressed one rarely
 * decompresses. Not answerable for symbols.c: a fifth of it is what it does when files cannot be opened or written.
 *
 * seeds: src/trace/reader_seeds
 * covers: src/trace/reader.c src/trace/reader_store.c src/trace/chunk.c src/trace/index.c src/trace/recover.c src/trace/defs_decode.c
 * covers: src/trace/residency_codec.c src/trace/rows_decode.c src/trace/events_decode.c src/verify/verify.c
 * covers: src/verify/verify_defs.c src/verify/verify_events.c src/verify/verify_live.c src/verify/verify_rows.c
 * covers: src/verify/verify_slice.c src/trace/moves_decode.c src/verify/verify_moves.c src/verify/verify_ticks.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/macros.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/rehash.h"
#include "trace/writer.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CHOICE_REHASH = 1, CHOICE_APPEND = 2 };

/* What a trace holds, for comparing. */
struct content {
        size_t n_slices, n_processes, n_stacks;
        uint64_t n_events;
        bool is_whole; /* everything that open promised could be read */
};

static bool read_all(struct trace_reader *t) {
        const struct trace_event *events;
        const struct trace_site *sites;
        const struct trace_counts *counts;
        const struct trace_sample *samples;
        const struct trace_residency *residency;
        const struct trace_mapping *mappings;
        const struct trace_move *moves;
        size_t n, n2, slice;
        struct err err;
        int r = 0;

        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                r |= trace_read_events(t, i, &events, &n, &err);
                r |= trace_read_sites(t, i, &sites, &n, &err);
                r |= trace_read_counts(t, i, &counts, &n, &err);
                r |= trace_read_moves(t, i, &moves, &n, &err);
                r |= trace_read_checkpoint(t, i, &slice, &sites, &n, &counts, &n2, &err);
        }
        for (size_t i = 0; i < trace_n_graphs(t); i++) {
                bytes_buf bytes = {0};

                r |= trace_read_graph(t, i, &bytes, &err);
                if (r == 0 && bytes.n != trace_graph(t, i)->n_bytes)
                        abort();
                vec_free(&bytes);
        }
        for (size_t i = 0; i < trace_n_bills(t); i++) {
                bytes_buf bytes = {0};

                r |= trace_read_bill(t, i, &bytes, &err);
                if (r == 0 && bytes.n != trace_bill(t, i)->n_bytes)
                        abort();
                vec_free(&bytes);
        }
        for (size_t i = 0; i < trace_n_tick_spans(t); i++) {
                const struct trace_tick *ticks;

                r |= trace_read_ticks(t, i, &ticks, &n, &err);
                if (r == 0 && n != trace_tick_span(t, i)->n)
                        abort();
        }
        trace_read_samples(t, &samples, &n, &err);
        trace_read_residency(t, &residency, &n, &err);
        trace_read_mappings(t, &mappings, &n, &err);
        return r == 0 && trace_view(t)->damage[0] == 0;
}

static int read_file(const char *path, struct content *ret) {
        struct trace_reader *t = NULL;
        struct err err = {0};
        int r = trace_reader_open(path, &t, &err);

        if (r < 0) {
                if (!err.text[0] || strchr(err.text, '\n'))
                        abort();
                return r;
        }
        *ret = (struct content){.n_slices = trace_view(t)->n_slices,
                                .n_processes = trace_view(t)->n_processes,
                                .n_stacks = trace_view(t)->n_stacks,
                                .n_events = trace_view(t)->n_events,
                                .is_whole = read_all(t)};
        trace_reader_free(t);
        return 0;
}

/* The file comes in two parts: what the first let open follows the second. */
static void follow(const char *path, int fd, size_t n, uint8_t choice) {
        size_t n_first = n * (choice >> 2) / 64;
        uint8_t *bytes = malloc(n + 1);
        struct trace_reader *t = NULL, *other;
        struct err err = {0};

        if (pread(fd, bytes, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n_first) < 0)
                abort();
        if (trace_reader_open(path, &t, &err) == 0)
                read_all(t);
        if (pwrite(fd, bytes + n_first, n - n_first, (off_t)n_first) != (ssize_t)(n - n_first))
                abort();
        if (t) {
                other = trace_reader_share(t);
                if (trace_reader_refresh(t, &err) != -EBUSY)
                        abort();
                read_all(other);
                trace_reader_free(other);
                if (trace_reader_refresh(t, &err) >= 0)
                        read_all(t);
                trace_reader_free(t);
        }
        free(bytes);
}

static void append(const char *path, const struct content *before) {
        const struct trace_symbol symbols[] = {{1, "main", "a.c", 1, false, false},
                                               {0, "f", "a.c", 2, true, false}};
        struct content after;

        if (trace_append_symbols(path, symbols, 2, NULL) < 0 || read_file(path, &after) < 0 ||
            after.n_slices != before->n_slices || after.n_events != before->n_events)
                abort();
        /* a damaged end goes, and how many ids are believed goes by the file's size */
        if (before->is_whole &&
            (after.n_processes != before->n_processes || after.n_stacks != before->n_stacks))
                abort();
}

/* Writes bytes as a chunk of columns into the file, and reads it in both ways. The packer stays, as that of a writer does. */
static void pack(int fd, const uint8_t *data, size_t n) {
        static struct trace_packer *packer;
        uint32_t kind = n % 3 ? TRACE_EVTS : TRACE_SITE;
        struct trace_cuts cuts = {0};
        struct trace_body body = {0};
        struct trace_chunk c;
        bytes_buf in = {0}, out = {0}, again = {0};
        struct err err = {0};
        uint64_t n_read = 0;
        size_t at = 0;

        if (!packer)
                packer = trace_packer_new();
        buf_bytes(&in, data, n);
        for (size_t i = 0; i < n && cuts.n < TRACE_MAX_CUTS && at < n; i++) {
                at += (size_t)data[i] * 8;
                cuts.at[cuts.n++] = MIN(at, n);
        }
        trace_packer_try_hard(packer, n % 2);
        trace_chunk_append_columns(packer, &out, kind, NULL, 0, &in, &cuts, n % 5 * 64);
        trace_chunk_set_version(out.items, trace_kind_version(kind));
        if (ftruncate(fd, 0) < 0 || pwrite(fd, out.items, out.n, 0) != (ssize_t)out.n ||
            trace_chunk_parse(out.items, out.n, 0, out.n, &c) ||
            trace_chunk_read(fd, &c, &body, &n_read, &err) < 0 || body.raw.n != n ||
            (n && memcmp(body.raw.items, data, n) != 0))
                abort();
        if (trace_chunk_load(fd, &c, &again) < 0 || again.n != out.n ||
            memcmp(again.items, out.items, out.n) != 0)
                abort();
        trace_body_done(&body);
        vec_free(&in);
        vec_free(&out);
        vec_free(&again);
}

/* A file with the input as the last byte wants it. It has a name of its own: symbols are appended through no link. */
static int make_file(const char *path, const uint8_t *data, size_t n, uint8_t choice) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        uint8_t *copy = malloc(n + 1);

        if (n)
                memcpy(copy, data, n);
        if (choice & CHOICE_REHASH)
                trace_rehash(copy, n);
        if (fd < 0 || fs_write_all(fd, copy, n) < 0)
                abort();
        free(copy);
        return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static FILE *null;
        uint8_t choice = n ? data[--n] : 0;
        struct content content = {0};
        struct err err = {0};
        char path[64];
        int fd, verified, r;

        if (!null)
                null = fopen("/dev/null", "w");
        snprintf(path, sizeof(path), "/dev/shm/silt-reader-fuzz-%d", (int)getpid());
        fd = make_file(path, data, n, choice);
        heap_peak_begin();
        verified = trace_verify(path, null, &err);
        r = read_file(path, &content);
        if (heap_peak_bytes() > 512 * n + (64u << 20))
                abort();
        if (verified == 0 && (r < 0 || !content.is_whole))
                abort();
        follow(path, fd, n, choice);
        if (r == 0 && choice & CHOICE_APPEND)
                append(path, &content);
        if (choice & CHOICE_APPEND)
                pack(fd, data, n);
        close(fd);
        unlink(path);
        return 0;
}
