/* SPDX-License-Identifier: MIT */
/* The random numbers of sampling, without floating point: the runtime must leave vector registers alone. Apart from
 * the rest, so that a test can draw millions of them (record/sample_draw_test.c). */
#pragma once

#include <stdint.h>

enum {
        SAMPLE_BLOCK_CHARGE = 16, /* for each block, however small; malloc_enter.S has it too */
        SAMPLE_LOG_BITS = 24,
};

/* The bytes a block counts for when it comes to being chosen. */
static inline uint64_t sample_charge(uint64_t size_bytes) {
        return size_bytes + SAMPLE_BLOCK_CHARGE;
}

/* The bytes of all blocks, by what is in a struct wire_tally. */
static inline uint64_t sample_alloc_bytes(uint64_t n_allocs, uint64_t due_bytes, uint64_t sample_at,
                                          uint64_t next_at) {
        uint64_t at = (int64_t)due_bytes < 0 ? next_at : sample_at;

        return at + due_bytes - n_allocs * SAMPLE_BLOCK_CHARGE;
}

/* A state that counts and a mixer that hides it (splitmix64): a handler may step the same state. */
#define SAMPLE_STEP 0x9e3779b97f4a7c15ull

static inline uint64_t sample_mix(uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

/* 64 - log2(x), in 2^-24, for 0 < x < 2^64: whole bits by counting, the others by squaring. */
static inline uint64_t sample_minus_log2(uint64_t x) {
        unsigned n_zeros = (unsigned)__builtin_clzll(x);
        uint64_t m = x << n_zeros; /* in [1, 2), as 2^-63 */
        uint64_t fraction = 0;

        for (unsigned i = 0; i < SAMPLE_LOG_BITS; i++) {
                unsigned __int128 square = (unsigned __int128)m * m;
                unsigned bit = (unsigned)(square >> 127);

                m = (uint64_t)(square >> (63 + bit));
                fraction = fraction << 1 | bit;
        }
        return ((uint64_t)(n_zeros + 1) << SAMPLE_LOG_BITS) - fraction;
}

/* Bytes to the next chosen one: exponential with this mean, rounded down. A block that covers more bytes than that is
 * chosen. mean_bytes < 2^40. */
static inline int64_t sample_distance(uint64_t mean_bytes, uint64_t random) {
        const uint64_t ln2 = 0xb17217f7d1cf79abull; /* 2^-64 */
        unsigned __int128 log =
                (unsigned __int128)sample_minus_log2(random | 1) * (ln2 >> 24); /* 2^-64 */

        return (int64_t)(log * mean_bytes >> 64);
}
