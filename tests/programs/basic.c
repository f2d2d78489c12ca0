/* SPDX-License-Identifier: MIT */
/* malloc, calloc, free in one thread.
 *
 *   100 blocks of 1..100 bytes        100 allocations, 5,050 bytes
 *   calloc(7, 11)                       1 allocation      77 bytes   peak: 5,127 in 101 blocks
 *   free the blocks of 1..50           50 frees         1,275 bytes
 *   10 times malloc(1000) and free     10 allocations, 10,000 bytes, 10 frees, 10 temporary
 *   left: blocks of 51..100 and 77 bytes = 3,852 in 51 */
#include "truth.h"

int main(void) {
        static char *block[101];

        for (int i = 1; i <= 100; i++)
                block[i] = malloc(i);
        char *zeroed = calloc(7, 11);
        MUST(zeroed && zeroed[76] == 0);
        for (int i = 1; i <= 50; i++)
                free(block[i]);
        for (int i = 0; i < 10; i++)
                free(malloc(1000));
        return 0;
}
