/* SPDX-License-Identifier: MIT */
/* Appends names to a trace. Nothing that stands in the file is touched: until the new trailer is
 * whole, a reader finds none at the end, scans, and sees what the old index named. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "trace/defs.h"
#include "trace/index.h"
#include "trace/writer.h"

static int symbols_compare(const void *a, const void *b) {
        const struct trace_symbol *const *x = a, *const *y = b;

        if ((*x)->location != (*y)->location)
                return (*x)->location < (*y)->location ? -1 : 1;
        return *x < *y ? -1 : *x > *y; /* chain order is array order */
}

static void symbols_encode(bytes_buf *out, const struct trace_symbol *symbols, size_t n) {
        VEC(const struct trace_symbol *) order = {0};
        VEC(struct trace_symbol) sorted = {0};

        vec_reserve(&order, n);
        vec_reserve(&sorted, n);
        for (size_t i = 0; i < n; i++)
                order.items[order.n++] = &symbols[i];
        if (n)
                qsort(order.items, n, sizeof(order.items[0]), symbols_compare);
        for (size_t i = 0; i < n; i++)
                sorted.items[sorted.n++] = *order.items[i];
        trace_encode_symbols(out, sorted.items, n);
        vec_free(&order);
        vec_free(&sorted);
}

static uint32_t symbols_next_generation(const struct trace_chunk_list *l) {
        uint32_t next = 0;

        for (size_t i = 0; i < l->chunks.n; i++)
                if (l->chunks.items[i].kind == TRACE_SYMS && l->chunks.items[i].head_bytes >= 4)
                        next = MAX(next, bytes_le32(l->chunks.items[i].head) + 1);
        return next;
}

/* The entries of the chunks that are there, from their headers in the list. */
static void symbols_index_old(const struct trace_chunk_list *l, bytes_buf *entries, uint32_t *n) {
        for (size_t i = 0; i < l->chunks.n; i++) {
                const struct trace_chunk *c = &l->chunks.items[i];
                uint8_t p[TRACE_HEADER_BYTES + TRACE_MAX_HEAD_BYTES] = {0};

                buf_put_le32(p + 4, c->kind);
                p[8] = c->version;
                p[9] = c->flags;
                p[10] = (uint8_t)c->head_bytes;
                buf_put_le32(p + 12, c->stored_bytes);
                buf_put_le32(p + 16, c->raw_bytes);
                memcpy(p + TRACE_HEADER_BYTES, c->head, c->head_bytes);
                trace_index_add(entries, n, p, c->off);
        }
}

/* SYMS, INDX, trailer, as they will stand behind end_off. */
static void symbols_build(const struct trace_chunk_list *l, uint64_t off,
                          const struct trace_symbol *symbols, size_t n, bytes_buf *out) {
        struct trace_packer *packer = trace_packer_new();
        uint8_t head[TRACE_DEFS_HEAD_BYTES];
        bytes_buf body = {0}, entries = {0};
        uint32_t n_entries = 0;

        trace_packer_try_hard(packer, true);
        buf_put_le32(head, symbols_next_generation(l));
        buf_put_le32(head + 4, (uint32_t)n);
        symbols_encode(&body, symbols, n);
        trace_chunk_append(packer, out, TRACE_SYMS, head, sizeof(head), body.items, body.n, 0);
        symbols_index_old(l, &entries, &n_entries);
        trace_index_add(&entries, &n_entries, out->items, off);
        trace_index_append(packer, out, off + out->n, &entries, n_entries, !l->finished,
                           l->n_damaged_bytes - l->n_tail_bytes);
        vec_free(&body);
        vec_free(&entries);
        trace_packer_free(packer);
}

static int symbols_write(int fd, uint64_t off, const bytes_buf *out) {
        for (size_t done = 0; done < out->n;) {
                ssize_t n = pwrite(fd, out->items + done, out->n - done, (off_t)(off + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                done += (size_t)n;
        }
        return 0;
}

/* A tail that was being written when the recorder died can hold nothing a reader could use: it
 * goes. */
static int symbols_append(int fd, const struct trace_symbol *symbols, size_t n, const char *path,
                          struct err *reterr) {
        struct trace_chunk_list l = {0};
        bytes_buf out = {0};
        struct stat st;
        uint64_t off;
        int r;

        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "cannot read '%s'", path);
        r = trace_chunk_list_load(fd, (uint64_t)st.st_size, &l, reterr);
        if (r == 0 && !l.chunks.n)
                r = err_set(reterr, -EINVAL, "'%s' is not a silt trace (trace error %d)", path,
                            TRACE_E_NOT_A_TRACE);
        if (r == 0) {
                off = ALIGN_UP(l.end_off, 8);
                symbols_build(&l, off, symbols, n, &out);
                r = ftruncate(fd, (off_t)off) < 0 ? -errno : symbols_write(fd, off, &out);
                if (r < 0) {
                        err_set_errno(reterr, r, "cannot add symbols to '%s'", path);
                        if (ftruncate(fd, (off_t)l.end_off) < 0)
                                err_set_errno(reterr, r,
                                              "cannot add symbols to '%s', and its end is damaged",
                                              path);
                }
        }
        vec_free(&out);
        trace_chunk_list_done(&l);
        return r;
}

int trace_append_symbols(const char *path, const struct trace_symbol *symbols, size_t n,
                         struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDWR | O_NOFOLLOW, 0);

        if (fd < 0)
                return err_set_errno(reterr, fd, "cannot open '%s'", path);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                return err_set(reterr, -EBUSY,
                               "cannot add symbols to '%s': it is still being written", path);
        return symbols_append(fd, symbols, n, path, reterr);
}
