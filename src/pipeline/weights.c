/* SPDX-License-Identifier: MIT */
#include "pipeline/weights.h"

#include <math.h>

#include "base/macros.h"
#include "wire/sample_draw.h"

#define WEIGHT_MAX_MEAN ((uint64_t)1 << 40)

void weights_done(struct weights *w) {
        vec_free(&w->eras);
}

void weights_note(struct weights *w, uint64_t seq, uint64_t mean_bytes) {
        mean_bytes = MIN(mean_bytes, WEIGHT_MAX_MEAN);
        if (w->eras.n > 0 && w->eras.items[w->eras.n - 1].mean_bytes == mean_bytes)
                return;
        vec_push(&w->eras, (struct weight_era){seq, mean_bytes});
}

double weight_mean(uint64_t size_bytes, uint64_t mean_bytes) {
        if (mean_bytes == 0)
                return 1;
        return -1 / expm1(-(double)sample_charge(size_bytes) / (double)mean_bytes);
}

static uint64_t era_mean_bytes(const struct weights *w, uint64_t seq) {
        size_t low = 0, high = w->eras.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (w->eras.items[mid].first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low > 0 ? w->eras.items[low - 1].mean_bytes : 0;
}

/* Between 0 and 1, the same each time for the same block. */
static double block_fraction(uint64_t seq, uint64_t seed) {
        uint64_t x = seq * 0x9e3779b97f4a7c15ull + seed;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

uint32_t weights_of(const struct weights *w, uint64_t seq, uint64_t size_bytes) {
        double mean = weight_mean(size_bytes, era_mean_bytes(w, seq));
        double whole = floor(mean);

        whole += block_fraction(seq, w->seed) < mean - whole;
        return (uint32_t)MIN(MAX(whole, 1.0), (double)UINT32_MAX);
}
