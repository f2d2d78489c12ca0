/* SPDX-License-Identifier: MIT */
#include "base/near.h"

#include <string.h>

#include "base/macros.h"

size_t near_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
        size_t rows[3][NEAR_MAX_BYTES + 1], *before = rows[0], *above = rows[1], *row = rows[2];

        for (size_t k = 0; k <= n_b; k++)
                above[k] = k;
        for (size_t i = 1; i <= n_a; i++) {
                size_t *spare = before;

                row[0] = i;
                for (size_t k = 1; k <= n_b; k++) {
                        size_t least = above[k - 1] + (a[i - 1] != b[k - 1]);

                        least = MIN(least, MIN(above[k], row[k - 1]) + 1);
                        if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                                least = MIN(least, before[k - 2] + 1);
                        row[k] = least;
                }
                before = above;
                above = row;
                row = spare;
        }
        return above[n_b];
}

void near_init(struct near *n, const char *word, size_t n_bytes) {
        *n = (struct near){.word = word, .n = n_bytes};
}

static void offer(struct near *n, const char *known, size_t distance) {
        if (n->best && n->distance <= distance)
                return;
        n->best = known;
        n->distance = distance;
}

/* One slip in three letters is a slip, more is another word. A beginning of two letters or more is as good as one slip. */
void near_offer(struct near *n, const char *known) {
        size_t n_known = strlen(known), distance;

        if (n->n == 0 || n->n > NEAR_MAX_BYTES || n_known > NEAR_MAX_BYTES)
                return;
        distance = near_distance(n->word, n->n, known, n_known);
        if (n->n >= 2 && n->n < n_known && memcmp(n->word, known, n->n) == 0)
                distance = 1;
        if (distance * 3 <= MAX(n->n, n_known) && distance < MIN(n->n, n_known))
                offer(n, known, distance);
}

/* Only as it is, and only where nothing that silt has is as near. */
void near_offer_other(struct near *n, const struct near_other *o) {
        if (strlen(o->word) == n->n && memcmp(n->word, o->word, n->n) == 0)
                offer(n, o->means, 1);
}
