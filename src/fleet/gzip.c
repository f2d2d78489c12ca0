/* SPDX-License-Identifier: MIT */
#include "fleet/gzip.h"

#include <stdlib.h>

#include <libdeflate.h>

enum { GZIP_LEVEL = 4 };

void gzip_pack(const void *bytes, size_t n, bytes_buf *to) {
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
        size_t cap;

        if (!c)
                abort();
        cap = libdeflate_gzip_compress_bound(c, n);
        vec_reserve(to, cap);
        to->n += libdeflate_gzip_compress(c, bytes, n, to->items + to->n, cap);
        libdeflate_free_compressor(c);
}
