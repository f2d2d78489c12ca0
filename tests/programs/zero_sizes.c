/* SPDX-License-Identifier: MIT */
/* Sizes of nothing: blocks of 0 bytes are blocks; free(NULL) is nothing; realloc(p, 0) only
 * releases.
 *
 *   malloc(0) calloc(0, 8) calloc(8, 0) realloc(NULL, 0) memalign(64, 0): 5 allocations, 0 bytes
 *   realloc(p, 0) of the first, which returns NULL: 1 free, no reallocation
 *   realloc of the second to 10: 1 reallocation: 1 allocation of 10 bytes and 1 free
 *   realloc(NULL, 5): 1 allocation, no reallocation
 *   free(NULL), 3 times: nothing
 *   malloc(1) and free of it: 1 allocation, 1 free, temporary; the peak: 10 + 5 + 1 = 16 bytes
 * Live then: 3 blocks of 0, and those of 10, 5 and 1: 6 blocks. The first and the second block are
 * released after others came: not temporary. */
#include "truth.h"
#include <malloc.h>

int main(void) {
        void *a = malloc(0), *b = calloc(0, 8), *c = calloc(8, 0), *d = realloc(NULL, 0),
             *e = memalign(64, 0);

        MUST(a && b && c && d && e);
        MUST(realloc(a, 0) == NULL);
        b = realloc(b, 10);
        MUST(b && realloc(NULL, 5));
        free(NULL);
        free(NULL);
        free(NULL);
        free(malloc(1));
        return 0;
}
