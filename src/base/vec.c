/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include <stdio.h>

void *vec_grow(void *items, size_t *cap, size_t want, size_t item_size_bytes) {
        size_t bigger = *cap ? *cap : 8, size_bytes;

        if (want <= *cap)
                return items;
        while (bigger < want)
                bigger += bigger / 2 + 1;
        if (__builtin_mul_overflow(bigger, item_size_bytes, &size_bytes) ||
            !(items = realloc(items, size_bytes))) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        *cap = bigger;
        return items;
}
