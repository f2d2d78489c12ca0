/* SPDX-License-Identifier: MIT */
/* Numbers to take percentiles of: exact, in the memory that SQLite may have. Of numbers with few different values, as sizes are, any
 * amount takes 128 KiB; others take 8 bytes each, or 16 where they count several times. Inside sql/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_chunk;
struct tally_slot;

/* Zero-initialise it. */
struct value_tally {
        uint64_t n;
        uint64_t n_loose;           /* values in chunks and heavy */
        struct tally_chunk *chunks; /* the newest first: values that count once */
        struct tally_chunk *heavy;  /* those that count several times, each with how often */
        struct tally_slot *slots;   /* different values and how often; NULL: not yet */
        size_t n_slots;             /* used ones */
};

enum { TALLY_MAX_TIMES = INT32_MAX }; /* so that no number of rows makes their sum too large */

/* The same value so many times, from 0 to TALLY_MAX_TIMES. False: no memory. */
bool value_tally_add(struct value_tally *t, double value, uint64_t n_times);
/* Between the two nearest of the n numbers, in order, that lie at place part * (n - 1); part from 0 to 1, n not 0. */
double value_tally_at(const struct value_tally *t, double part);
void value_tally_done(struct value_tally *t);
