/* SPDX-License-Identifier: MIT */
/* A program with an LD_PRELOAD of its own, which wraps malloc with a header and calls malloc inside
 * its calloc and realloc. Each call of the program counts once, with the size the program asked
 * for; and the user's library still sees every call (`wrapped`).
 *
 *   10 times malloc(100), kept        calloc(3, 50) kept       realloc of it to 400
 *   free of the first 5 blocks        realloc(NULL, 20) freed (temporary)
 *   allocations 13   frees 7   reallocations 1   bytes 1,000 + 150 + 400 + 20 = 1,570
 *   temporary: the calloc block, replaced at once, and the 20: 2
 *   peak: 1,000 + 400 in 11   end 500 + 400 in 6
 * wrapped: malloc 10 + calloc's 1 + realloc's malloc 1 and free 1 + 5 frees + realloc's malloc 1 +
 * free 1 = 20 */
#include "truth.h"
#include <stdatomic.h>

extern _Atomic unsigned long wrapped_calls;

int main(void) {
        void *block[10];

        for (int i = 0; i < 10; i++)
                MUST(block[i] = malloc(100));
        void *zeroed = calloc(3, 50);
        MUST(zeroed && realloc(zeroed, 400));
        for (int i = 0; i < 5; i++)
                free(block[i]);
        free(realloc(NULL, 20));
        truth_say("wrapped", wrapped_calls);
        return 0;
}
