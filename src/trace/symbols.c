/* SPDX-License-Identifier: MIT */
/* Puts names into a trace that has ended.
 *
 * Appending touches nothing that stands in the file: until the new trailer is whole, a reader finds none at the
 * end, scans, and sees what the old index named. Where there are names already, a new file without them takes
 * the trace's place instead (swap.h), so that looking them up again and again does not make it grow. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "trace/defs.h"
#include "trace/foreign.h"
#include "trace/index.h"
#include "trace/swap.h"
#include "trace/writer.h"

/* Copying more than this to save the bytes of older names does not pay. */
enum { SYMBOLS_MAX_COPY_BYTES = 1 << 30 };

bool trace_symbol_begin(const struct trace_symbol *s, uint64_t *ret_offset) {
        uint64_t offset = 0;
        const char *c = s->function;

        if (!s->guess || *c++ != '+' || !*c)
                return false;
        for (; *c; c++) {
                uint64_t digit = *c >= '0' && *c <= '9'   ? (uint64_t)(*c - '0')
                                 : *c >= 'a' && *c <= 'f' ? (uint64_t)(*c - 'a' + 10)
                                                          : 16;

                if (digit > 15 || offset >> 60)
                        return false;
                offset = offset << 4 | digit;
        }
        *ret_offset = offset;
        return true;
}

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

/* SYMS, NSRC, INDX, trailer, as they will stand at `off`. */
static void symbols_build(const struct trace_chunk_list *l, uint64_t off,
                          const struct trace_names *names, bytes_buf *out) {
        struct trace_packer *packer = trace_packer_new();
        uint8_t head[TRACE_DEFS_HEAD_BYTES];
        bytes_buf body = {0}, entries = {0};
        uint32_t n_entries = 0;
        size_t span_bytes;

        trace_packer_try_hard(packer, true);
        buf_put_le32(head, symbols_next_generation(l));
        buf_put_le32(head + 4, (uint32_t)names->n_symbols);
        symbols_encode(&body, names->symbols, names->n_symbols);
        span_bytes = trace_chunk_append(packer, out, TRACE_SYMS, head, sizeof(head), body.items,
                                        body.n, 0);
        symbols_index_old(l, &entries, &n_entries);
        trace_index_add(&entries, &n_entries, out->items, off);
        if (names->n_modules) {
                vec_clear(&body);
                buf_put_le32(head + 4, (uint32_t)names->n_modules);
                trace_encode_module_names(&body, names->modules, names->n_modules);
                trace_chunk_append(packer, out, TRACE_NSRC, head, sizeof(head), body.items, body.n,
                                   0);
                trace_index_add(&entries, &n_entries, out->items + span_bytes, off + span_bytes);
        }
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

/* ---- in the place of older names ------------------------------------------------------------- */

static bool is_names(const struct trace_chunk *c) {
        return c->kind == TRACE_SYMS || c->kind == TRACE_NSRC;
}

/* Where the older names begin, and nothing but names after it; 0 when there are none, or when other things
 * follow them. */
static uint64_t symbols_begin(const struct trace_chunk_list *l, size_t *ret_n_before) {
        size_t n = l->chunks.n;

        while (n > 0 && is_names(&l->chunks.items[n - 1]))
                n--;
        for (size_t i = 0; i < n; i++)
                if (is_names(&l->chunks.items[i]))
                        return 0;
        *ret_n_before = n;
        return n > 0 && n < l->chunks.n ? l->chunks.items[n].off : 0;
}

static int symbols_copy(int from, int to, uint64_t n_bytes) {
        off_t in = 0, out = 0;

        while ((uint64_t)in < n_bytes) {
                uint8_t buf[65536];
                size_t left = (size_t)(n_bytes - (uint64_t)in);
                ssize_t n = copy_file_range(from, &in, to, &out, left, 0);

                if (n > 0)
                        continue;
                /* not on every file system, and not between all of them */
                n = fs_read_at(from, buf, MIN(left, sizeof(buf)), (uint64_t)in);
                if (n > 0)
                        n = pwrite(to, buf, (size_t)n, out) == n ? n : -errno;
                if (n <= 0)
                        return n < 0 ? (int)n : -EIO;
                in += n;
                out += n;
        }
        return 0;
}

/* The new file has reached the disk before it takes the name. 0 or -errno with the old one as it was. */
static int symbols_swap(int fd, const struct trace_chunk_list *l, const struct trace_names *names) {
        struct trace_swap swap = TRACE_SWAP_NONE;
        struct trace_chunk_list before = *l;
        bytes_buf out = {0};
        uint64_t off = symbols_begin(l, &before.chunks.n);
        struct stat st;
        int r;

        if (!off || off > SYMBOLS_MAX_COPY_BYTES || fstat(fd, &st) < 0 || st.st_nlink != 1)
                return -ENOTSUP;
        symbols_build(&before, off, names, &out);
        r = trace_swap_begin(fd, &swap);
        if (r == 0)
                r = symbols_copy(fd, swap.fd, off);
        if (r == 0)
                r = symbols_write(swap.fd, off, &out);
        if (r == 0 && fdatasync(swap.fd) < 0)
                r = -errno;
        if (r == 0)
                r = trace_swap_commit(&swap, fd);
        trace_swap_done(&swap);
        vec_free(&out);
        return r;
}

/* ---- behind what is there -------------------------------------------------------------------- */

/* A tail that was being written when the recorder died can hold nothing a reader could use: it
 * goes. */
static int symbols_append(int fd, const struct trace_chunk_list *l, const struct trace_names *names,
                          const char *path, struct err *reterr) {
        uint64_t off = ALIGN_UP(l->end_off, 8);
        bytes_buf out = {0};
        int r;

        symbols_build(l, off, names, &out);
        r = ftruncate(fd, (off_t)off) < 0 ? -errno : symbols_write(fd, off, &out);
        vec_free(&out);
        if (r == 0)
                return 0;
        err_set(reterr, r, "cannot add names to '%s': %s: the trace is unchanged", path,
                strerror(-r));
        if (ftruncate(fd, (off_t)l->end_off) < 0)
                err_set(reterr, r,
                        "cannot add names to '%s': %s: the end of the trace is now damaged", path,
                        strerror(-r));
        return r;
}

int trace_put_names_to(int fd, const char *path, const struct trace_names *names,
                       struct err *reterr) {
        struct trace_chunk_list l = {0};
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "cannot read '%s'", path);
        r = trace_chunk_list_load(fd, (uint64_t)st.st_size, &l, reterr);
        if (r == 0 && !l.chunks.n)
                r = foreign_refuse(fd, path, reterr);
        if (r == 0 && symbols_swap(fd, &l, names) < 0)
                r = symbols_append(fd, &l, names, path, reterr);
        trace_chunk_list_done(&l);
        return r;
}

/* ---- a note ------------------------------------------------------------------------------------- */

/* NOTE, INDX, trailer, as they will stand at `off`. */
static void note_build(const struct trace_chunk_list *l, uint64_t off, const char *text,
                       bytes_buf *out) {
        struct trace_packer *packer = trace_packer_new();
        struct trace_defs defs;
        bytes_buf entries = {0};
        uint32_t n_entries = 0;

        trace_defs_init(&defs);
        trace_defs_note(&defs, 0, text);
        trace_defs_flush(&defs, packer, out);
        trace_defs_done(&defs);
        symbols_index_old(l, &entries, &n_entries);
        trace_index_add(&entries, &n_entries, out->items, off);
        trace_index_append(packer, out, off + out->n, &entries, n_entries, !l->finished,
                           l->n_damaged_bytes - l->n_tail_bytes);
        vec_free(&entries);
        trace_packer_free(packer);
}

int trace_append_note(const char *path, const char *text, struct err *reterr) {
        _cleanup_close_ int fd = trace_open_for_names(path, reterr);
        struct trace_chunk_list l = {0};
        bytes_buf out = {0};
        struct stat st;
        uint64_t off;
        int r;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return err_set_errno(reterr, -errno, "cannot read '%s'", path);
        r = trace_chunk_list_load(fd, (uint64_t)st.st_size, &l, reterr);
        if (r == 0 && l.chunks.n) {
                off = ALIGN_UP(l.end_off, 8);
                note_build(&l, off, text, &out);
                r = ftruncate(fd, (off_t)off) < 0 ? -errno : symbols_write(fd, off, &out);
                if (r < 0 && ftruncate(fd, (off_t)l.end_off) == 0)
                        err_set_errno(reterr, r, "cannot add a note to '%s'", path);
        }
        vec_free(&out);
        trace_chunk_list_done(&l);
        return r;
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char *open_remedy(int error) {
        switch (-error) {
        case ENOENT: return "check the path";
        case ELOOP: return "name the file the link points to";
        default: return "make it writable, or use a copy";
        }
}

/* Who had the lock before may have put a new file in the place of the one that was opened. */
static bool is_still_there(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || st.st_nlink > 0;
}

int trace_open_for_names(const char *path, struct err *reterr) {
        for (;;) {
                _cleanup_close_ int fd = fs_open(path, O_RDWR | O_NOFOLLOW, 0);

                if (fd < 0)
                        return err_set(reterr, fd, "cannot add names to '%s': %s: %s", path,
                                       strerror(-fd), open_remedy(fd));
                if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                        return err_set(
                                reterr, -EBUSY,
                                "cannot add names to '%s': the trace is still being written: try again when the recording has ended",
                                path);
                if (is_still_there(fd))
                        return TAKE_FD(fd);
        }
}

int trace_put_names(const char *path, const struct trace_names *names, struct err *reterr) {
        _cleanup_close_ int fd = trace_open_for_names(path, reterr);

        return fd < 0 ? fd : trace_put_names_to(fd, path, names, reterr);
}

int trace_append_symbols(const char *path, const struct trace_symbol *symbols, size_t n,
                         struct err *reterr) {
        return trace_put_names(path, &(struct trace_names){.symbols = symbols, .n_symbols = n},
                               reterr);
}
