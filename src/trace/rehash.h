/* SPDX-License-Identifier: MIT */
/* Makes the checksums of a changed trace right again, so that tests and fuzzers reach what lies
 * behind them. */
#pragma once

#include <xxhash.h>

#include "base/bytes.h"
#include "trace/format.h"

static inline void rehash_trailer(uint8_t *p, size_t at) {
        buf_put_le64(p + at + 24, XXH3_64bits(p + at, 24));
}

/* The span of the chunk at `at` after its checksums were made right, or 0. */
static inline size_t rehash_chunk(uint8_t *p, size_t at, size_t n) {
        size_t head_bytes = p[at + 10], stored_bytes = bytes_le32(p + at + 12);
        uint8_t checked[20 + TRACE_MAX_HEAD_BYTES];

        if (head_bytes > TRACE_MAX_HEAD_BYTES || head_bytes > stored_bytes ||
            stored_bytes > n - at - TRACE_HEADER_BYTES)
                return 0;
        memcpy(checked, p + at, 20);
        memcpy(checked + 20, p + at + TRACE_HEADER_BYTES, head_bytes);
        buf_put_le32(p + at + 20, (uint32_t)XXH3_64bits(checked, 20 + head_bytes));
        buf_put_le64(p + at + 24,
                     XXH3_64bits_withSeed(p + at + TRACE_HEADER_BYTES + head_bytes,
                                          stored_bytes - head_bytes, bytes_le32(p + at + 20)));
        return TRACE_HEADER_BYTES + ALIGN_UP(stored_bytes, 8);
}

static inline void trace_rehash(uint8_t *p, size_t n) {
        size_t at = 0;

        while (at + TRACE_HEADER_BYTES <= n) {
                size_t span = 8;

                if (bytes_le32(p + at) == TRACE_TRAILER_MAGIC)
                        rehash_trailer(p, at);
                else if (bytes_le32(p + at) == TRACE_CHUNK_MAGIC)
                        span = MAX(rehash_chunk(p, at, n), (size_t)8);
                at += span;
        }
}
