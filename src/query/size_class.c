/* SPDX-License-Identifier: MIT */
/* Classes of sizes and lifetimes. Sizes: four a doubling, so that none is wider than a quarter of what it holds. */
#include "query/query.h"

void query_size_class(uint64_t size_bytes, uint64_t *ret_min_bytes, uint64_t *ret_max_bytes) {
        uint64_t step = 16;

        if (size_bytes <= 16) {
                *ret_min_bytes = size_bytes == 0 ? 0 : size_bytes <= 8 ? 1 : 9;
                *ret_max_bytes = size_bytes == 0 ? 0 : size_bytes <= 8 ? 8 : 16;
                return;
        }
        if (size_bytes > 128) /* (2^k, 2^(k+1)] in four */
                step = 1ull << (63 - __builtin_clzll(size_bytes - 1) - 2);
        *ret_min_bytes = (size_bytes - 1) / step * step + 1;
        *ret_max_bytes = *ret_min_bytes - 1 + step;
        if (*ret_max_bytes < *ret_min_bytes) /* the last class ends with the numbers */
                *ret_max_bytes = UINT64_MAX;
}

void query_lifetime_class(uint64_t lifetime_ns, uint64_t *ret_min_ns, uint64_t *ret_max_ns) {
        unsigned b = 0;

        while (b + 1 < TRACE_N_LIFE_BUCKETS && lifetime_ns >= 1000ull << 2 * (b + 1))
                b++;
        *ret_min_ns = b ? 1000ull << 2 * b : 0;
        *ret_max_ns = b + 1 < TRACE_N_LIFE_BUCKETS ? 1000ull << 2 * (b + 1) : UINT64_MAX;
}
