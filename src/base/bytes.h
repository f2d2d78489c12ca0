/* SPDX-License-Identifier: MIT */
/* Reading and writing bytes of a defined layout: little endian, LEB128 numbers, zigzag for signed ones.
 * The reader never passes its end: the first read beyond it sets `bad`, and every read from then on
 * gives 0, so that a parser checks once at the end of a record instead of after every field. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct bytes_reader {
        const uint8_t *pos, *end;
        bool bad;
};

typedef VEC(uint8_t) bytes_buf;

static inline struct bytes_reader bytes_reader_of(const void *p, size_t size_bytes) {
        return (struct bytes_reader){p, (const uint8_t *)p + size_bytes, false};
}

static inline size_t bytes_left(const struct bytes_reader *r) {
        return (size_t)(r->end - r->pos);
}

/* The next n bytes, or NULL (and bad) when there are fewer. */
static inline const uint8_t *bytes_take(struct bytes_reader *r, size_t n) {
        const uint8_t *p = r->pos;

        if (r->bad || bytes_left(r) < n) {
                r->bad = true;
                return NULL;
        }
        r->pos += n;
        return p;
}

static inline uint32_t bytes_le32(const void *p) {
        const uint8_t *b = p;

        return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t bytes_le64(const void *p) {
        return bytes_le32(p) | (uint64_t)bytes_le32((const uint8_t *)p + 4) << 32;
}

static inline uint8_t bytes_u8(struct bytes_reader *r) {
        const uint8_t *p = bytes_take(r, 1);

        return p ? *p : 0;
}

static inline uint32_t bytes_u32(struct bytes_reader *r) {
        const uint8_t *p = bytes_take(r, 4);

        return p ? bytes_le32(p) : 0;
}

static inline uint64_t bytes_u64(struct bytes_reader *r) {
        const uint8_t *p = bytes_take(r, 8);

        return p ? bytes_le64(p) : 0;
}

uint64_t bytes_varint_slow(struct bytes_reader *r);

static inline uint64_t bytes_varint(struct bytes_reader *r) {
        if (r->pos < r->end && *r->pos < 0x80 && !r->bad)
                return *r->pos++;
        return bytes_varint_slow(r);
}

static inline int64_t bytes_unzigzag(uint64_t v) {
        return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint64_t bytes_zigzag(int64_t v) {
        return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

/* A string stored as varint length and bytes; a view into the buffer. NULL when bad. */
const char *bytes_string(struct bytes_reader *r, size_t *ret_len);

static inline void buf_put_le32(void *p, uint32_t v) {
        uint8_t *b = p;

        b[0] = (uint8_t)v, b[1] = (uint8_t)(v >> 8), b[2] = (uint8_t)(v >> 16),
        b[3] = (uint8_t)(v >> 24);
}

static inline void buf_put_le64(void *p, uint64_t v) {
        buf_put_le32(p, (uint32_t)v);
        buf_put_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline void buf_u8(bytes_buf *b, uint8_t v) {
        vec_push(b, v);
}

static inline void buf_varint(bytes_buf *b, uint64_t v) {
        vec_reserve(b, 10);
        while (v >= 0x80) {
                b->items[b->n++] = (uint8_t)(v | 0x80);
                v >>= 7;
        }
        b->items[b->n++] = (uint8_t)v;
}

void buf_u32(bytes_buf *b, uint32_t v);
void buf_u64(bytes_buf *b, uint64_t v);
void buf_bytes(bytes_buf *b, const void *p, size_t n);
