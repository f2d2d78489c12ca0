/* SPDX-License-Identifier: MIT */
/* The word that was probably meant where one is not known: "did you mean". */
#pragma once

#include <stddef.h>

enum { NEAR_MAX_BYTES = 40 }; /* longer words are no slips of known ones */

struct near {
        const char *word; /* what was written, n bytes */
        size_t n;
        const char *best; /* NULL: nothing is like it */
        size_t distance;  /* of best */
};

/* What others call something, and what it is called here. */
struct near_other {
        const char *word, *means;
};

void near_init(struct near *n, const char *word, size_t n_bytes);
/* Of words as far away as each other, the first that was offered. */
void near_offer(struct near *n, const char *known);
void near_offer_other(struct near *n, const struct near_other *o);
static inline const char *near_best(const struct near *n) {
        return n->best;
}

/* Letters to add, leave out, exchange or swap with their neighbour to make b of a; both at most NEAR_MAX_BYTES. */
size_t near_distance(const char *a, size_t n_a, const char *b, size_t n_b);
