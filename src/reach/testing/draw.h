/* SPDX-License-Identifier: MIT */
/* Numbers by chance, the same for the same seed. */
#pragma once

#include <stdint.h>

struct draw {
        uint64_t state; /* not 0 */
};

static inline struct draw draw_from(uint64_t seed) {
        return (struct draw){(seed + 1) * 0x9e3779b97f4a7c15ull | 1};
}

/* Below n, which is not 0. */
static inline uint64_t draw_below(struct draw *d, uint64_t n) {
        d->state ^= d->state << 13;
        d->state ^= d->state >> 7;
        d->state ^= d->state << 17;
        return (d->state >> 11) % n;
}
