/* SPDX-License-Identifier: MIT */
/* A hash map from 64-bit keys to 64-bit values: open addressing, linear probing, no removal.
 * Key 0 is allowed. Zero-initialise it: `struct map m = {0};`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
        uint64_t key, value;
};

struct map {
        struct map_entry *entries;
        uint64_t *used; /* one bit an entry, so that any key and value may be stored */
        size_t n, cap;  /* cap is 0 or a power of two */
};

void map_done(struct map *m);
void map_clear(struct map *m);
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);

/* The place of key's value, added with `fallback` when missing; valid until the next map_put. */
uint64_t *map_put(struct map *m, uint64_t key, uint64_t fallback, bool *ret_added);

static inline uint64_t map_hash(uint64_t x) {
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93ull;
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93ull;
        return x ^ (x >> 32);
}
