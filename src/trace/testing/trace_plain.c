/* SPDX-License-Identifier: MIT */
#include "trace/testing/trace_plain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fs.h"
#include "trace/chunk.h"
#include "trace/index.h"

static _Noreturn void die(const char *what) {
        fprintf(stderr, "seeds: %s\n", what);
        exit(1);
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

void trace_make_plain(const char *path, bool has_index, uint8_t choice) {
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
        buf_u8(&out, choice);
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
