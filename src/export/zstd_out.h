/* SPDX-License-Identifier: MIT */
/* Text that is compressed with zstd, or not, on its way into a file. Inside export/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ZSTD_OUT_BYTES = 1 << 17 };

struct zstd_out {
        FILE *to;
        struct ZSTD_CCtx_s *context; /* NULL: the text is written as it is */
        char *plain, *packed;        /* ZSTD_OUT_BYTES each */
        size_t n;
        int status; /* 0 or -errno */
};

void zstd_out_init(struct zstd_out *z, FILE *to, bool is_packed);
int zstd_out_end(struct zstd_out *z); /* everything is written, or -errno */
void zstd_out_done(struct zstd_out *z);
void zstd_out_flush(struct zstd_out *z);

static inline int zstd_out_status(const struct zstd_out *z) {
        return z->status;
}

static inline void zstd_out_byte(struct zstd_out *z, char c) {
        if (z->n == ZSTD_OUT_BYTES)
                zstd_out_flush(z);
        z->plain[z->n++] = c;
}

void zstd_out_text(struct zstd_out *z, const char *text);
void zstd_out_one_line(struct zstd_out *z,
                       const char *text); /* ends of lines and the like become blanks */
/* Lower case, without 0x, and what ends it. */
void zstd_out_hex(struct zstd_out *z, uint64_t v, char end);
