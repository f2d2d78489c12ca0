/* SPDX-License-Identifier: MIT */
/* The bytes of a recording of bytehound: blocks of LZ4, each with a byte (1: packed, 2: as it is) and its length before it. Inside import/ only.
 *
 * Numbers are little-endian, lists have their length before them. Some numbers ("short" here) are 1 to 9 bytes long: as many ones as the
 * first byte begins with, so many bytes follow, and the rest of it are the highest bits.
 *
 * Each function returns 1, 0 the file ends here, or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "import/import_input.h"

struct bytehound_bytes {
        struct import_input *in;
        struct err *reterr;
        uint8_t *packed, *block;
        size_t at, n;    /* in the block */
        struct str text; /* the last that was taken */
};

void bytehound_bytes_init(struct bytehound_bytes *b, struct import_input *in, struct err *reterr);
void bytehound_bytes_done(struct bytehound_bytes *b);

/* to may be NULL: they are passed over. */
int bytehound_take(struct bytehound_bytes *b, void *to, uint64_t n);
int bytehound_take_u32(struct bytehound_bytes *b, uint32_t *ret);
int bytehound_take_u64(struct bytehound_bytes *b, uint64_t *ret);
int bytehound_take_short(struct bytehound_bytes *b, uint64_t *ret);
/* n bytes into b->text. */
int bytehound_take_text(struct bytehound_bytes *b, uint64_t n);
int bytehound_take_counted_text(struct bytehound_bytes *b);
int bytehound_skip_counted(struct bytehound_bytes *b);
