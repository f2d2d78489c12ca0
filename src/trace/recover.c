/* SPDX-License-Identifier: MIT */
/* Finds the chunks of a file that has no index: still being written, cut off, or damaged. Hops
 * from header to header; where none stands, tries every multiple of 8 until one does. Reads no
 * bodies, so that a report on a running recording costs no more than on a finished one. */
#include <errno.h>
#include <string.h>

#include "base/fs.h"
#include "trace/index.h"

enum {
        SCAN_BYTES = 64 * 1024,
        SCAN_SHORT_BYTES = 256, /* while hopping: header and head */
        SCAN_NEED_BYTES = TRACE_HEADER_BYTES + TRACE_MAX_HEAD_BYTES,
};

struct scan {
        int fd;
        uint64_t file_bytes;
        struct trace_chunk_list *list;
        uint8_t bytes[SCAN_BYTES];
        uint64_t at; /* file offset of bytes[0] */
        size_t n;
};

/* The bytes at off, at least SCAN_NEED_BYTES of them unless the file ends before; `want` are
 * read at once. */
static ssize_t scan_peek(struct scan *s, uint64_t off, size_t want, const uint8_t **ret) {
        if (off < s->at || off + SCAN_NEED_BYTES > s->at + s->n) {
                ssize_t got = fs_read_at(s->fd, s->bytes, want, off);

                if (got < 0)
                        return got;
                s->at = off;
                s->n = (size_t)got;
                s->list->bytes_read += (uint64_t)got;
        }
        *ret = s->bytes + (off - s->at);
        return (ssize_t)MIN(s->n - (size_t)(off - s->at), (size_t)SCAN_NEED_BYTES);
}

enum scan_found { SCAN_NOTHING, SCAN_CHUNK, SCAN_TRAILER, SCAN_CUT_OFF };

/* What stands at p, of which n bytes are known; *ret_next = where it ends. */
static enum scan_found scan_look(struct scan *s, const uint8_t *p, size_t n, uint64_t off,
                                 struct trace_chunk *ret, uint64_t *ret_next) {
        uint64_t index_off, end_off;
        int error;

        if (n >= TRACE_TRAILER_BYTES && trace_trailer_parse(p, &index_off, &end_off) &&
            end_off == off + TRACE_TRAILER_BYTES) {
                *ret_next = end_off;
                return SCAN_TRAILER;
        }
        if (n < 4 || bytes_le32(p) != TRACE_CHUNK_MAGIC)
                return SCAN_NOTHING;
        error = trace_chunk_parse(p, n, off, s->file_bytes, ret);
        if (error)
                return error == TRACE_E_CUT_OFF ? SCAN_CUT_OFF : SCAN_NOTHING;
        *ret_next = MIN(off + trace_chunk_span_bytes(ret), s->file_bytes);
        return SCAN_CHUNK;
}

/* From a place where nothing valid stands to the next where something does, or to the end. A
 * chunk that is cut off ends the search only if nothing whole comes after it. */
static int scan_resync(struct scan *s, uint64_t *off) {
        uint64_t from = *off, next;
        struct trace_chunk c;

        for (uint64_t at = ALIGN_UP(from + 1, 8); at < s->file_bytes; at += 8) {
                const uint8_t *p;
                ssize_t n = scan_peek(s, at, SCAN_BYTES, &p);
                enum scan_found found;

                if (n < 0)
                        return (int)n;
                found = scan_look(s, p, (size_t)n, at, &c, &next);
                if (found == SCAN_CHUNK || found == SCAN_TRAILER) {
                        s->list->n_damaged_bytes += at - from;
                        *off = at;
                        return 0;
                }
        }
        s->list->n_damaged_bytes += s->file_bytes - from;
        s->list->n_tail_bytes = s->file_bytes - from;
        *off = s->file_bytes;
        return 0;
}

static int scan_run(struct scan *s) {
        struct trace_chunk_list *l = s->list;
        uint64_t off = ALIGN_UP(l->end_off, 8), next = 0; /* what is before is listed */

        while (off < s->file_bytes) {
                struct trace_chunk c;
                const uint8_t *p;
                ssize_t n = scan_peek(s, off, SCAN_SHORT_BYTES, &p);
                enum scan_found found;
                int r;

                if (n < 0)
                        return (int)n;
                found = scan_look(s, p, (size_t)n, off, &c, &next);
                if (found == SCAN_CHUNK || found == SCAN_TRAILER) {
                        if (found == SCAN_CHUNK && c.kind != TRACE_INDX)
                                vec_push(&l->chunks, c);
                        if (found == SCAN_CHUNK && c.kind == TRACE_INDX && c.head_bytes >= 8)
                                l->finished = !(bytes_le32(c.head + 4) & TRACE_INDX_REBUILT);
                        l->end_off = off = next;
                        continue;
                }
                r = scan_resync(s, &off);
                if (r < 0)
                        return r;
        }
        return 0;
}

int trace_recover(int fd, uint64_t file_bytes, struct trace_chunk_list *ret, struct err *reterr) {
        struct scan *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return err_set(reterr, -ENOMEM, "cannot search the trace: %s: free some memory",
                               strerror(ENOMEM));
        s->fd = fd;
        s->file_bytes = file_bytes;
        s->list = ret;
        r = scan_run(s);
        free(s);
        if (r < 0)
                return err_set(reterr, r, "cannot read the trace: %s: check the disk",
                               strerror(-r));
        return 0;
}
