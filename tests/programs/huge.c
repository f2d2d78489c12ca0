/* SPDX-License-Identifier: MIT */
/* Large sizes that can be had, hardly touched.
 *
 *   malloc(1 GiB) kept        malloc(1 GiB + 1) freed     temporary
 *   calloc(2^15, 2^14) = 512 MiB, realloc to 768 MiB and to 3 bytes, freed: 3 allocations, 3
 *   temporary
 * Live: 1 GiB; 2 GiB + 1 (the peak, 2 blocks); 1.5; 1.75; 1 GiB + 3. */
#include "truth.h"

int main(void) {
        size_t gib = (size_t)1 << 30;
        char *kept = malloc(gib), *p;

        MUST(kept);
        kept[gib - 1] = 1;
        p = malloc(gib + 1);
        MUST(p);
        free(p);
        p = calloc((size_t)1 << 15, (size_t)1 << 14);
        MUST(p && p[gib / 2 - 1] == 0);
        p = realloc(p, gib / 4 * 3);
        MUST(p);
        p = realloc(p, 3);
        MUST(p);
        free(p);
        return 0;
}
