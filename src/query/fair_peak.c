/* SPDX-License-Identifier: MIT */
#include "query/fair_peak.h"

#include <math.h>

#include "base/units.h"

/* The lot, the same each time for the same block (splitmix64). */
static unsigned half_of(uint64_t seq) {
        uint64_t x = seq * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return (unsigned)(x >> 63);
}

/* From here on a sample is in one half alone. The little that the other would get decides between moments that are alike
 * otherwise, in favour of those at which this one is high; the correlation that is left without it is smaller. */
enum { HALVES_MANY = 16 };

/* By how much the half that is drawn gets more than its part, so that the two are not correlated: a sample that stands for
 * itself alone goes to both alike. */
static uint64_t unevenness(uint64_t size_bytes, uint32_t n_blocks) {
        double n = n_blocks;

        if (n_blocks >= HALVES_MANY)
                return size_bytes * n_blocks;
        return n_blocks > 1 ? unit_nearest((double)size_bytes * sqrt(n * (n - 1))) : 0;
}

void fair_peak_add(struct fair_peak *h, uint64_t seq, uint64_t size_bytes, uint32_t n_blocks) {
        uint64_t more = unevenness(size_bytes, n_blocks);
        unsigned half = half_of(seq);

        h->now[half] += size_bytes * n_blocks + more;
        h->now[!half] += size_bytes * n_blocks - more;
}

void fair_peak_take(struct fair_peak *h, uint64_t seq, uint64_t size_bytes, uint32_t n_blocks) {
        uint64_t more = unevenness(size_bytes, n_blocks);
        unsigned half = half_of(seq);

        h->now[half] -= size_bytes * n_blocks + more;
        h->now[!half] -= size_bytes * n_blocks - more;
}

void fair_peak_look(struct fair_peak *h) {
        for (unsigned i = 0; i < 2; i++)
                if (!h->has_looked || h->now[i] > h->highest[i]) {
                        h->highest[i] = h->now[i];
                        h->others[i] = h->now[!i];
                }
        h->has_looked = true;
}

uint64_t fair_peak_level(const struct fair_peak *h) {
        return (h->others[0] + h->others[1]) / 2;
}
