/* SPDX-License-Identifier: MIT */
/* A second unit for link-time optimisation: what is inlined from here into parts.c has its description here. */
#include <stdlib.h>

int more(int x);

static volatile int kept;

static inline int rounded(int x, int to) {
        kept = x;
        return x / to * to;
}

int more(int x) {
        int *p = malloc(sizeof(*p));

        if (!p)
                return rounded(x, 3);
        *p = rounded(x, 8);
        x = *p + kept;
        free(p);
        return x;
}
