/* SPDX-License-Identifier: MIT */
/* A set of blocks by their numbers: a bit for each up to the highest. Inside export/ only. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

struct seq_set {
        uint64_t *bits;
        uint64_t n; /* numbers there is room for */
};

static inline bool seq_set_has(const struct seq_set *s, uint64_t seq) {
        return seq < s->n && (s->bits[seq / 64] >> seq % 64 & 1);
}

/* A trace has as many numbers as events in it: the largest is bounded by its size. */
static inline void seq_set_add(struct seq_set *s, uint64_t seq) {
        if (seq >= s->n) {
                uint64_t n = MAX(2 * s->n, (seq / 64 + 1) * 64);

                s->bits = realloc(s->bits, n / 8);
                if (!s->bits)
                        abort();
                memset(&s->bits[s->n / 64], 0, (n - s->n) / 8);
                s->n = n;
        }
        s->bits[seq / 64] |= 1ull << seq % 64;
}

static inline void seq_set_remove(struct seq_set *s, uint64_t seq) {
        if (seq < s->n)
                s->bits[seq / 64] &= ~(1ull << seq % 64);
}

static inline void seq_set_done(struct seq_set *s) {
        free(s->bits);
        *s = (struct seq_set){0};
}
