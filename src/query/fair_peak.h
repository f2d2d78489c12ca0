/* SPDX-License-Identifier: MIT */
/* The peak of a recording of samples without the luck of its moment (docs/sampling.md). The highest point of an estimated
 * curve lies above the true one, because moments at which chance exaggerates are the ones to be highest. So samples
 * are put into two halves by lot: each half finds the moment at which it is highest, and the other one, which knows nothing of
 * that, says what was alive then. Inside query/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fair_peak {
        /* Twice the bytes alive by each half. Modulo 2^64: of damaged traces sums may be anything. */
        uint64_t now[2];
        uint64_t highest[2], others[2]; /* and what the other half had at the same moment */
        bool has_looked;
};

/* A sample that stands for n_blocks is there from now on, or gone. */
void fair_peak_add(struct fair_peak *h, uint64_t seq, uint64_t size_bytes, uint32_t n_blocks);
void fair_peak_take(struct fair_peak *h, uint64_t seq, uint64_t size_bytes, uint32_t n_blocks);

/* This is a moment that may be the highest. */
void fair_peak_look(struct fair_peak *h);

/* Bytes alive at the peak. */
uint64_t fair_peak_level(const struct fair_peak *h);
