/* SPDX-License-Identifier: MIT */
/* The bytes of a file, unpacked (gzip, lz4, zstd) as they are read. Memory is bounded: a line, or what import_input_all allows.
 * Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

enum {
        IMPORT_HEAD_BYTES = 16 << 10,
        IMPORT_MAX_LINE_BYTES = 16 << 20,
};

struct import_unpacker;

/* Of import_set_progress; what it returns is not looked at. */
extern bool (*import_input_progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
extern void *import_input_progress_ctx;

struct import_input {
        const char *path; /* for messages */
        int fd;           /* borrowed */
        uint64_t file_bytes;
        struct import_unpacker *unpacker; /* NULL: the file is not packed */
        uint8_t *buf;                     /* what was unpacked and not taken: [begin, end) */
        size_t begin, end, cap;
        uint64_t taken_bytes; /* offset of begin in what was unpacked */
        uint64_t n_lines;
        bool is_over; /* nothing comes behind end */
        bool is_cut;  /* the packed file ends before what is in it does */
        bool is_open; /* its last line has no end */
};

int import_input_open(struct import_input *in, int fd, const char *path, struct err *reterr);
void import_input_done(struct import_input *in); /* also after a failure */

/* The first bytes, without taking them. */
int import_input_head(struct import_input *in, const uint8_t **ret, size_t *ret_n,
                      struct err *reterr);
/* The next line without its end ("\n" or "\r\n"), which is replaced by a 0; valid until the next call. 1, 0 at the end, -errno. */
int import_input_line(struct import_input *in, char **ret, size_t *ret_n, struct err *reterr);
/* The next n bytes or, at the end, fewer: their number, or -errno. */
ssize_t import_input_read(struct import_input *in, void *to, size_t n, struct err *reterr);
/* The next byte: 1, 0 at the end, -errno. */
static inline int import_input_byte(struct import_input *in, uint8_t *ret, struct err *reterr) {
        if (in->begin == in->end)
                return (int)import_input_read(in, ret, 1, reterr);
        *ret = in->buf[in->begin++];
        in->taken_bytes++;
        return 1;
}
/* All that is left, a 0 behind it that is not counted. Refused beyond 64 MiB and 200 bytes for each byte of the file. */
int import_input_all(struct import_input *in, bytes_buf *ret, struct err *reterr);

/* "'PATH', byte 1234: WHY": of what was taken last. Returns -EINVAL. */
int import_input_refuse(const struct import_input *in, struct err *reterr, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
