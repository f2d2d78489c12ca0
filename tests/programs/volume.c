/* SPDX-License-Identifier: MIT */
/* Three million events as fast as one thread can make them: rings fill up, nothing may be lost.
 *
 * 500,000 rounds of malloc(16), malloc(32), free, free in order: the second is temporary. 1,000,000
 * allocations and frees, 24,000,000 bytes, 500,000 temporary. Then 500,000 blocks of 8 kept in a
 * list, 500,000 frees of it: the first freed is the last allocated: 1 temporary.
 *   allocations 1,500,000   frees 1,500,000   bytes 28,000,000   peak 4,000,000 in 500,000 */
#include "truth.h"

int main(void) {
        void **list = NULL;

        for (int i = 0; i < 500000; i++) {
                void *a = malloc(16), *b = malloc(32);
                free(a);
                free(b);
        }
        for (int i = 0; i < 500000; i++) {
                void **block = malloc(8);
                *block = list;
                list = block;
        }
        while (list) {
                void **next = *list;
                free(list);
                list = next;
        }
        return 0;
}
