/* SPDX-License-Identifier: MIT */
/* How many blocks a sampled one stands for (docs/sampling.md): the reciprocal of the probability with which it was
 * chosen, as a whole number that is right in the mean. It follows from the block's number and size, and from the mean
 * distance of samples when it was made, so nothing is kept for a block; releases find the same number again. */
#pragma once

#include <stdint.h>

#include "base/vec.h"

/* From this block on samples had this mean distance; 0: all blocks are recorded. */
struct weight_era {
        uint64_t first_seq, mean_bytes;
};

struct weights {
        VEC(struct weight_era) eras; /* in order */
        uint64_t seed;
};

void weights_done(struct weights *w);

/* The block that will have the number seq, the next one. */
void weights_note(struct weights *w, uint64_t seq, uint64_t mean_bytes);

uint32_t weights_of(const struct weights *w, uint64_t seq, uint64_t size_bytes);

/* What it is in the mean, for a block of unknown number. */
double weight_mean(uint64_t size_bytes, uint64_t mean_bytes);
