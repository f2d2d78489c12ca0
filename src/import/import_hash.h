/* SPDX-License-Identifier: MIT */
/* Hashes of texts and bytes, as keys of struct map. Inside import/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/map.h"

/* Goes on from another hash, or from any number. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) {
        const uint8_t *b = bytes;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ b[i]) * 0x100000001b3ull;
        return map_hash(hash);
}

/* NULL is "". */
static inline uint64_t hash_text(uint64_t hash, const char *text) {
        return hash_bytes(hash, text ? text : "", text ? strlen(text) : 0);
}
