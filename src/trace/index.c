/* SPDX-License-Identifier: MIT */
#include "trace/index.h"

#include <errno.h>
#include <xxhash.h>

#include "base/fs.h"

enum { TRAILER_CHECKED_BYTES = 24, INDEX_HEADER_FROM = 4, INDEX_HEADER_BYTES = 16 };

void trace_chunk_list_done(struct trace_chunk_list *l) {
        vec_free(&l->chunks);
}

/* ---- writing --------------------------------------------------------------------------------- */

void trace_index_add(bytes_buf *entries, uint32_t *n_entries, const uint8_t *p, uint64_t off) {
        if (bytes_le32(p + 4) == TRACE_INDX)
                return;
        buf_u64(entries, off);
        buf_bytes(entries, p + INDEX_HEADER_FROM, INDEX_HEADER_BYTES);
        buf_bytes(entries, p + TRACE_HEADER_BYTES, p[10]);
        (*n_entries)++;
}

static void trailer_append(bytes_buf *out, uint64_t index_off, uint64_t end_off) {
        size_t at = out->n;

        buf_u32(out, TRACE_TRAILER_MAGIC);
        buf_u32(out, 0);
        buf_u64(out, index_off);
        buf_u64(out, end_off);
        buf_u64(out, XXH3_64bits(out->items + at, TRAILER_CHECKED_BYTES));
}

void trace_index_append(struct trace_packer *p, bytes_buf *out, uint64_t off,
                        const bytes_buf *entries, uint32_t n_entries, bool rebuilt,
                        uint64_t n_damaged_bytes) {
        uint8_t head[TRACE_INDX_HEAD_BYTES];
        size_t span_bytes;

        buf_put_le32(head, n_entries);
        buf_put_le32(head + 4, rebuilt ? TRACE_INDX_REBUILT : 0);
        buf_put_le64(head + 8, n_damaged_bytes);
        span_bytes = trace_chunk_append(p, out, TRACE_INDX, head, sizeof(head), entries->items,
                                        entries->n, 0);
        trailer_append(out, off, off + span_bytes + TRACE_TRAILER_BYTES);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool trace_trailer_parse(const uint8_t *p, uint64_t *ret_index_off, uint64_t *ret_end_off) {
        if (bytes_le32(p) != TRACE_TRAILER_MAGIC || bytes_le32(p + 4) ||
            bytes_le64(p + TRAILER_CHECKED_BYTES) != XXH3_64bits(p, TRAILER_CHECKED_BYTES))
                return false;
        *ret_index_off = bytes_le64(p + 8);
        *ret_end_off = bytes_le64(p + 16);
        return true;
}

/* One entry. Its fields pass the same checks as a header found in the file. */
bool trace_index_next(struct bytes_reader *r, uint64_t min_off, uint64_t max_off,
                      struct trace_chunk *ret) {
        struct trace_chunk c = {.off = bytes_u64(r)};
        const uint8_t *p = bytes_take(r, INDEX_HEADER_BYTES), *head;

        if (!p)
                return false;
        c.kind = bytes_le32(p);
        c.version = p[4];
        c.flags = p[5];
        c.head_bytes = (uint16_t)(p[6] | p[7] << 8);
        c.stored_bytes = bytes_le32(p + 8);
        c.raw_bytes = bytes_le32(p + 12);
        if (c.off % 8 || c.off < min_off || c.off >= max_off ||
            trace_chunk_span_bytes(&c) > max_off - c.off || c.kind == TRACE_INDX ||
            c.head_bytes > TRACE_MAX_HEAD_BYTES || c.head_bytes > c.stored_bytes ||
            c.raw_bytes > (uint64_t)c.stored_bytes * TRACE_MAX_RATIO || c.raw_bytes > INT32_MAX)
                return false;
        head = bytes_take(r, c.head_bytes);
        if (!head)
                return false;
        memcpy(c.head, head, c.head_bytes);
        *ret = c;
        return true;
}

static bool index_parse(const struct trace_chunk *indx, const bytes_buf *raw,
                        struct trace_chunk_list *l) {
        struct bytes_reader r = bytes_reader_of(raw->items, raw->n);
        uint32_t n = bytes_le32(indx->head), flags = bytes_le32(indx->head + 4);
        uint64_t min_off = 0;

        if (indx->head_bytes != TRACE_INDX_HEAD_BYTES || flags & ~(uint32_t)TRACE_INDX_REBUILT ||
            n > raw->n / TRACE_INDEX_ENTRY_BYTES)
                return false;
        for (uint32_t i = 0; i < n; i++) {
                struct trace_chunk *c = vec_add(&l->chunks);

                if (!trace_index_next(&r, min_off, indx->off, c))
                        return false;
                min_off = c->off + trace_chunk_span_bytes(c);
        }
        l->finished = !(flags & TRACE_INDX_REBUILT);
        l->n_damaged_bytes = bytes_le64(indx->head + 8);
        return !bytes_left(&r);
}

/* True when trailer and index are there and right; what they do not say is then not needed. */
static bool index_load(int fd, uint64_t file_bytes, struct trace_chunk_list *l) {
        uint8_t trailer[TRACE_TRAILER_BYTES], header[TRACE_HEADER_BYTES + TRACE_MAX_HEAD_BYTES];
        struct trace_body body = {0};
        uint64_t index_off, end_off;
        struct trace_chunk c;
        ssize_t got;
        bool ok;

        if (file_bytes < TRACE_TRAILER_BYTES || file_bytes % 8 ||
            fs_read_at(fd, trailer, sizeof(trailer), file_bytes - sizeof(trailer)) !=
                    (ssize_t)sizeof(trailer))
                return false;
        l->bytes_read += sizeof(trailer);
        if (!trace_trailer_parse(trailer, &index_off, &end_off) || end_off != file_bytes ||
            index_off >= file_bytes || index_off % 8)
                return false;
        got = fs_read_at(fd, header, sizeof(header), index_off);
        if (got < 0 || trace_chunk_parse(header, (size_t)got, index_off, file_bytes, &c) ||
            c.kind != TRACE_INDX || c.version != TRACE_KIND_VERSION)
                return false;
        ok = trace_chunk_read(fd, &c, &body, &l->bytes_read, NULL) == 0 &&
             index_parse(&c, &body.raw, l);
        trace_body_done(&body);
        return ok;
}

int trace_chunk_list_load(int fd, uint64_t file_bytes, struct trace_chunk_list *ret,
                          struct err *reterr) {
        uint64_t bytes_read;

        if (index_load(fd, file_bytes, ret)) {
                ret->has_index = true;
                ret->end_off = file_bytes;
                return 0;
        }
        bytes_read = ret->bytes_read;
        vec_free(&ret->chunks);
        *ret = (struct trace_chunk_list){.bytes_read = bytes_read};
        return trace_recover(fd, file_bytes, ret, reterr);
}
