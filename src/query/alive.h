/* SPDX-License-Identifier: MIT */
/* The blocks alive at one moment of a pass over the events, by sequence number.
 *
 * Most blocks die young: the newest ALIVE_YOUNG numbers have a place each in an array that stays in
 * the cache; those that outlive it move to a hash table. 40 bytes a place, at most three places in four of the
 * hash table taken. Inside query/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALIVE_YOUNG = 32768, ALIVE_MAX_THREAD = (1 << 28) - 1 };

struct alive_block {
        uint64_t seq, size_bytes, begin_ns;
        uint32_t stack;
        uint32_t n_blocks; /* that it stands for: 1, unless the recording is of samples */
        uint32_t thread : 28;
        uint32_t by_realloc : 1;
        uint32_t is_inherited : 1;
        uint32_t is_by_peak : 1; /* it was there at the peak, unless released before */
        uint32_t is_used : 1;    /* this place is taken; alive_put sets it */
};

struct alive {
        struct alive_block *young; /* seq % ALIVE_YOUNG; made when first needed */
        struct alive_block *old;
        size_t old_cap, n_old, n; /* n: both together. cap is 0 or a power of two */
};

void alive_done(struct alive *t);
void alive_put(struct alive *t, const struct alive_block *b); /* replaces one of the same number */
const struct alive_block *alive_find(const struct alive *t, uint64_t seq); /* NULL: none */
bool alive_take(struct alive *t, uint64_t seq, struct alive_block *ret);   /* removes it */

/* Calls fn for each; it may change the block but its number. False from fn removes it. */
typedef bool (*alive_fn)(void *ctx, struct alive_block *b);
void alive_each(struct alive *t, alive_fn fn, void *ctx);

/* The next one from place *i on, which begins with 0; NULL: that was all. The table must not change meanwhile. */
const struct alive_block *alive_next(const struct alive *t, size_t *i);
