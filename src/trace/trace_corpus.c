/* SPDX-License-Identifier: MIT */
/* Writes the seeds of reader_fuzz: small traces of made-up programs, bodies decompressed.
 * usage: trace_corpus DIRECTORY [packed]: packed leaves the traces as the writer wrote them */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fs.h"
#include "trace/chunk.h"
#include "trace/index.h"
#include "trace/trace_fake.h"

static _Noreturn void die(const char *what) {
        fprintf(stderr, "trace_corpus: %s\n", what);
        exit(1);
}

static void write_trace(const char *path, uint32_t seed) {
        struct trace_fake_options o = {
                .seed = seed,
                .n_stacks = 2 + seed,
                .n_threads = 1 + seed % 3,
                .n_slices = 2,
                .n_events = 8 + seed * 5,
                .flags = seed % 4,
                .has_child = seed % 2,
                .keep = true,
        };
        const struct trace_symbol symbols[] = {{0, "f", "a.c", 3, true, false},
                                               {0, "main", "a.c", 9, false, true}};
        struct trace_meta meta = trace_fake_meta;
        struct trace_writer *w;
        struct trace_fake f;
        struct err err;
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

        meta.flags = o.flags;
        if (fd < 0 || trace_writer_open(fd, &meta, &w, &err) < 0)
                die("cannot write");
        trace_fake_run(&f, &o, w);
        if (trace_writer_finish(w, &err) < 0)
                die(err.text);
        trace_writer_free(w);
        trace_fake_done(&f);
        if (seed % 2 && trace_append_symbols(path, symbols, 2, &err) < 0)
                die(err.text);
}

/* The chunk again, with its body as it is. */
static void append_plain(bytes_buf *out, const struct trace_chunk *c, const bytes_buf *raw) {
        size_t at = out->n;
        uint8_t header[TRACE_HEADER_BYTES] = {0}, checked[20 + TRACE_MAX_HEAD_BYTES];
        uint32_t check;

        buf_put_le32(header, TRACE_CHUNK_MAGIC);
        buf_put_le32(header + 4, c->kind);
        header[8] = c->version;
        header[9] = (uint8_t)(c->flags & ~TRACE_FLAG_ZSTD);
        header[10] = (uint8_t)c->head_bytes;
        buf_put_le32(header + 12, (uint32_t)(c->head_bytes + raw->n));
        buf_put_le32(header + 16, (uint32_t)raw->n);
        memcpy(checked, header, 20);
        memcpy(checked + 20, c->head, c->head_bytes);
        check = (uint32_t)XXH3_64bits(checked, 20u + c->head_bytes);
        buf_put_le32(header + 20, check);
        buf_put_le64(header + 24, XXH3_64bits_withSeed(raw->items, raw->n, check));
        buf_bytes(out, header, sizeof(header));
        buf_bytes(out, c->head, c->head_bytes);
        buf_bytes(out, raw->items, raw->n);
        while ((out->n - at) % 8)
                buf_u8(out, 0);
}

/* Some seeds have an index and some have none, for the two ways of opening. */
static void make_plain(const char *path, bool has_index) {
        struct trace_chunk_list list = {0};
        struct trace_packer *packer = trace_packer_new();
        struct trace_body body = {0};
        bytes_buf out = {0}, entries = {0};
        uint32_t n_entries = 0;
        uint64_t n = 0;
        struct err err;
        int fd = open(path, O_RDWR);

        if (fd < 0 || trace_chunk_list_load(fd, (uint64_t)lseek(fd, 0, SEEK_END), &list, &err) < 0)
                die("cannot read back");
        for (size_t i = 0; i < list.chunks.n; i++) {
                size_t at = out.n;

                if (trace_chunk_read(fd, &list.chunks.items[i], &body, &n, &err) < 0)
                        die(err.text);
                append_plain(&out, &list.chunks.items[i], &body.raw);
                trace_index_add(&entries, &n_entries, out.items + at, at);
        }
        if (has_index)
                trace_index_append(packer, &out, out.n, &entries, n_entries, false, 0);
        buf_u8(&out, 1); /* the fuzzer's choice: make checksums right */
        if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) != 0 ||
            fs_write_all(fd, out.items, out.n) < 0)
                die("cannot write");
        close(fd);
        vec_free(&out);
        vec_free(&entries);
        trace_body_done(&body);
        trace_chunk_list_done(&list);
        trace_packer_free(packer);
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (uint32_t seed = 0; seed < 8; seed++) {
                char path[4096];

                snprintf(path, sizeof(path), "%s/seed%u", argv[1], seed);
                write_trace(path, seed);
                if (argc == 2)
                        make_plain(path, seed % 4 != 0);
        }
        return 0;
}
