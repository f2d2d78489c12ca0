/* SPDX-License-Identifier: MIT */
#include "import/import_input.h"

#include <errno.h>
#include <lz4frame.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "import/import_ahead.h"

enum {
        INPUT_READ_BYTES = 256 << 10,
        INPUT_MAX_ALL_BYTES = 64 << 20, /* of a file read whole, however small it is packed */
        INPUT_MAX_ALL_RATIO = 200,
        /* Text of events packs well, a bomb better: streams are read on, but not for ever. */
        INPUT_MAX_STREAM_RATIO = 40000,
        INPUT_MIN_AHEAD_BYTES = 1 << 20,
        INPUT_WINDOW_LOG = 27, /* of zstd: 128 MiB of memory at most */
};

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_LZ4, PACKED_ZSTD };

struct import_unpacker {
        enum packing packing;
        z_stream gzip;
        ZSTD_DStream *zstd;
        LZ4F_dctx *lz4;
        uint8_t *packed;
        size_t begin, end;
        _Atomic uint64_t file_off; /* progress is told by another thread than unpacks */
        uint64_t unpacked_bytes;
        struct import_ahead *ahead; /* NULL: it is unpacked when it is wanted */
        bool is_between;            /* a part has ended: more may follow, or nothing */
};

int import_input_refuse(const struct import_input *in, struct err *reterr, const char *fmt, ...) {
        char why[300];
        va_list args;

        va_start(args, fmt);
        vsnprintf(why, sizeof(why), fmt, args);
        va_end(args);
        if (in->n_lines)
                return err_set(reterr, -EINVAL, "'%s', line %llu, byte %llu: %s", in->path,
                               (unsigned long long)in->n_lines, (unsigned long long)in->taken_bytes,
                               why);
        return err_set(reterr, -EINVAL, "'%s', byte %llu: %s", in->path,
                       (unsigned long long)in->taken_bytes, why);
}

/* ---- packed files ------------------------------------------------------------------------------ */

static int unpacker_new(struct import_input *in, enum packing packing) {
        struct import_unpacker *u = calloc(1, sizeof(*u));

        if (!u || !(u->packed = malloc(INPUT_READ_BYTES)))
                abort();
        u->packing = packing;
        u->is_between = true;
        if (packing == PACKED_GZIP && inflateInit2(&u->gzip, 15 + 16) != Z_OK)
                abort();
        if (packing == PACKED_ZSTD) {
                u->zstd = ZSTD_createDStream();
                if (!u->zstd)
                        abort();
                ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, INPUT_WINDOW_LOG);
        }
        if (packing == PACKED_LZ4 &&
            LZ4F_isError(LZ4F_createDecompressionContext(&u->lz4, LZ4F_VERSION)))
                abort();
        in->unpacker = u;
        return 0;
}

static void unpacker_free(struct import_unpacker *u) {
        if (!u)
                return;
        import_ahead_stop(u->ahead);
        if (u->packing == PACKED_GZIP)
                inflateEnd(&u->gzip);
        ZSTD_freeDStream(u->zstd);
        LZ4F_freeDecompressionContext(u->lz4);
        free(u->packed);
        free(u);
}

static int refuse_packed(struct import_input *in, const char *why, struct err *reterr) {
        return err_set(reterr, -EINVAL, "'%s', byte %llu of the packed file: %s", in->path,
                       (unsigned long long)(in->unpacker->file_off -
                                            (in->unpacker->end - in->unpacker->begin)),
                       why);
}

/* Bytes written to `to`, 0: more is needed, or -errno. */
static ssize_t inflate_some(struct import_input *in, uint8_t *to, size_t cap, struct err *reterr) {
        struct import_unpacker *u = in->unpacker;
        int r;

        if (u->is_between && u->gzip.total_in)
                inflateReset(&u->gzip);
        u->is_between = false;
        u->gzip.next_in = u->packed + u->begin;
        u->gzip.avail_in = (uInt)(u->end - u->begin);
        u->gzip.next_out = to;
        u->gzip.avail_out = (uInt)cap;
        r = inflate(&u->gzip, Z_NO_FLUSH);
        u->begin = u->end - u->gzip.avail_in;
        if (r == Z_STREAM_END)
                u->is_between = true;
        else if (r != Z_OK && r != Z_BUF_ERROR)
                return refuse_packed(in, "it cannot be unpacked with gzip: copy it again", reterr);
        return (ssize_t)(cap - u->gzip.avail_out);
}

static ssize_t unzstd_some(struct import_input *in, uint8_t *to, size_t cap, struct err *reterr) {
        struct import_unpacker *u = in->unpacker;
        ZSTD_inBuffer from = {u->packed, u->end, u->begin};
        ZSTD_outBuffer out = {to, cap, 0};
        size_t r = ZSTD_decompressStream(u->zstd, &out, &from);

        u->begin = from.pos;
        u->is_between = r == 0;
        if (ZSTD_isError(r))
                return refuse_packed(in, "it cannot be unpacked with zstd: copy it again", reterr);
        return (ssize_t)out.pos;
}

static ssize_t unlz4_some(struct import_input *in, uint8_t *to, size_t cap, struct err *reterr) {
        struct import_unpacker *u = in->unpacker;
        size_t n_from = u->end - u->begin, n_to = cap;
        size_t r = LZ4F_decompress(u->lz4, to, &n_to, u->packed + u->begin, &n_from, NULL);

        if (LZ4F_isError(r))
                return refuse_packed(in, "it cannot be unpacked with lz4: copy it again", reterr);
        u->begin += n_from;
        u->is_between = r == 0;
        return (ssize_t)n_to;
}

static ssize_t unpack(struct import_input *in, uint8_t *to, size_t cap, struct err *reterr) {
        struct import_unpacker *u = in->unpacker;
        ssize_t n = 0;

        while (n == 0) {
                bool may_have_more = false;

                if (u->begin == u->end) {
                        ssize_t got = fs_read_at(in->fd, u->packed, INPUT_READ_BYTES, u->file_off);

                        if (got < 0)
                                return err_set_errno(reterr, (int)got, "cannot read '%s'",
                                                     in->path);
                        u->begin = 0, u->end = (size_t)got;
                        u->file_off += (uint64_t)got;
                        may_have_more = got == 0;
                }
                if (may_have_more && u->is_between)
                        return 0;
                n = u->packing == PACKED_GZIP  ? inflate_some(in, to, cap, reterr)
                    : u->packing == PACKED_LZ4 ? unlz4_some(in, to, cap, reterr)
                                               : unzstd_some(in, to, cap, reterr);
                if (n == 0 && may_have_more && !u->is_between) {
                        in->is_cut = true; /* what is there is read */
                        return 0;
                }
        }
        if (n > 0)
                u->unpacked_bytes += (uint64_t)n;
        if (u->unpacked_bytes > INPUT_MAX_ALL_BYTES &&
            u->unpacked_bytes / INPUT_MAX_STREAM_RATIO > in->file_bytes)
                return refuse_packed(
                        in, "it unpacks to more than 40,000 times its size: not read further",
                        reterr);
        return n;
}

static ssize_t unpack_ahead(void *in, uint8_t *to, size_t cap, struct err *reterr) {
        return unpack(in, to, cap, reterr);
}

/* What is small is unpacked before a thread is there. */
static ssize_t take_unpacked(struct import_input *in, uint8_t *to, size_t cap, struct err *reterr) {
        struct import_unpacker *u = in->unpacker;

        if (!u->ahead && in->file_bytes >= INPUT_MIN_AHEAD_BYTES && u->unpacked_bytes)
                u->ahead = import_ahead_start(unpack_ahead, in);
        return u->ahead ? import_ahead_take(u->ahead, to, cap, reterr)
                        : unpack(in, to, cap, reterr);
}

/* ---- bytes ------------------------------------------------------------------------------------- */

int import_input_open(struct import_input *in, int fd, const char *path, struct err *reterr) {
        uint8_t magic[4] = {0};
        struct stat st;
        ssize_t n;

        *in = (struct import_input){.path = path, .fd = fd};
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return err_set(reterr, -EINVAL, "'%s' is not a file", path);
        in->file_bytes = (uint64_t)st.st_size;
        n = fs_read_at(fd, magic, sizeof(magic), 0);
        if (n < 0)
                return err_set_errno(reterr, (int)n, "cannot read '%s'", path);
        if (memcmp(magic, "\x1f\x8b", 2) == 0)
                return unpacker_new(in, PACKED_GZIP);
        if (memcmp(magic, "\x04\x22\x4d\x18", 4) == 0)
                return unpacker_new(in, PACKED_LZ4);
        if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
                return unpacker_new(in, PACKED_ZSTD);
        return 0;
}

void import_input_done(struct import_input *in) {
        unpacker_free(in->unpacker);
        in->unpacker = NULL;
        free(in->buf);
        in->buf = NULL;
}

bool (*import_input_progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
void *import_input_progress_ctx;

/* More bytes behind end: 1, 0 there are none, or -errno. */
static int fill(struct import_input *in, struct err *reterr) {
        ssize_t n;

        if (in->is_over)
                return 0;
        if (in->begin > in->cap / 2) {
                memmove(in->buf, in->buf + in->begin, in->end - in->begin);
                in->end -= in->begin;
                in->begin = 0;
        }
        if (in->cap - in->end < INPUT_READ_BYTES) {
                in->cap = MAX(in->cap * 2, (size_t)INPUT_READ_BYTES * 2);
                in->buf = realloc(in->buf, in->cap + 1); /* and a 0 behind the last line */
                if (!in->buf)
                        abort();
        }
        if (in->unpacker)
                n = take_unpacked(in, in->buf + in->end, in->cap - in->end, reterr);
        else
                n = fs_read_at(in->fd, in->buf + in->end, in->cap - in->end,
                               in->taken_bytes + (in->end - in->begin));
        if (n < 0)
                return in->unpacker ? (int)n
                                    : err_set_errno(reterr, (int)n, "cannot read '%s'", in->path);
        in->end += (size_t)n;
        in->is_over = n == 0;
        if (import_input_progress)
                import_input_progress(import_input_progress_ctx,
                                      in->unpacker ? in->unpacker->file_off
                                                   : in->taken_bytes + (in->end - in->begin),
                                      in->file_bytes);
        return n > 0;
}

static void take(struct import_input *in, size_t n) {
        in->begin += n;
        in->taken_bytes += n;
}

int import_input_head(struct import_input *in, const uint8_t **ret, size_t *ret_n,
                      struct err *reterr) {
        int r = 1;

        while (r > 0 && in->end - in->begin < IMPORT_HEAD_BYTES)
                r = fill(in, reterr);
        *ret = in->buf + in->begin;
        *ret_n = MIN(in->end - in->begin, (size_t)IMPORT_HEAD_BYTES);
        return r < 0 ? r : 0;
}

int import_input_line(struct import_input *in, char **ret, size_t *ret_n, struct err *reterr) {
        size_t seen = 0, n;
        uint8_t *newline = NULL;
        int r = 1;

        while (r > 0 && !newline) {
                if (in->end > in->begin + seen)
                        newline = memchr(in->buf + in->begin + seen, '\n',
                                         in->end - in->begin - seen);
                seen = in->end - in->begin;
                if (newline)
                        break;
                if (seen > IMPORT_MAX_LINE_BYTES)
                        return import_input_refuse(in, reterr, "a line is longer than 16 MiB");
                r = fill(in, reterr);
        }
        if (r < 0)
                return r;
        if (!newline && in->begin == in->end)
                return 0;
        *ret = (char *)in->buf + in->begin;
        n = newline ? (size_t)(newline - in->buf) - in->begin : in->end - in->begin;
        take(in, newline ? n + 1 : n);
        in->is_open = !newline;
        in->n_lines++;
        /* readers of lines end at it, and what is behind it would be lost in silence */
        if (memchr(*ret, '\0', n))
                return import_input_refuse(in, reterr, "a line has a NUL byte");
        (*ret)[n] = '\0';
        if (n && (*ret)[n - 1] == '\r')
                (*ret)[--n] = '\0';
        *ret_n = n;
        return 1;
}

ssize_t import_input_read(struct import_input *in, void *to, size_t n, struct err *reterr) {
        size_t done = 0;

        while (done < n) {
                size_t some = MIN(in->end - in->begin, n - done);
                int r;

                if (some) {
                        memcpy((uint8_t *)to + done, in->buf + in->begin, some);
                        take(in, some);
                        done += some;
                        continue;
                }
                r = fill(in, reterr);
                if (r < 0)
                        return r;
                if (r == 0)
                        break;
        }
        return (ssize_t)done;
}

int import_input_all(struct import_input *in, bytes_buf *ret, struct err *reterr) {
        uint64_t max_bytes =
                MAX((uint64_t)INPUT_MAX_ALL_BYTES, in->file_bytes * INPUT_MAX_ALL_RATIO);

        for (;;) {
                ssize_t n;

                vec_reserve(ret, INPUT_READ_BYTES + 1);
                n = import_input_read(in, ret->items + ret->n, INPUT_READ_BYTES, reterr);
                if (n < 0)
                        return (int)n;
                ret->n += (size_t)n;
                if (in->unpacker && ret->n > max_bytes)
                        return refuse_packed(in,
                                             "it unpacks to more than 200 times its size: not read",
                                             reterr);
                if (n == 0)
                        break;
        }
        ret->items[ret->n] = 0;
        return 0;
}
