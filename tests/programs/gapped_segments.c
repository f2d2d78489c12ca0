/* SPDX-License-Identifier: MIT */
/* An executable whose segments do not follow each other: lld leaves a page between them, other
 * linkers do when they are told an address (see the flags). The loader then tells of it segment by
 * segment, and the code's segment has neither headers nor unwind tables.
 *
 * Built without frame pointers, so that only the tables lead to main: 3 calls deep, 10 blocks of 24
 * bytes, each freed when the next exists; the last one stays.
 *   allocations 10   frees 9   bytes 240   temporary 0   peak 48 in 2   end 24 in 1   sites 1 */
#include "truth.h"

__attribute__((noinline)) static void *third(volatile int *n) {
        volatile char room[40];

        room[*n] = 1;
        return malloc(24 + 0 * (size_t)room[*n]);
}

__attribute__((noinline)) static void *second(volatile int *n) {
        void *block = third(n);

        ++*n;
        return block;
}

int main(void) {
        volatile int n = 0;
        void *old = NULL;

        while (n < 10) {
                void *block = second(&n);

                free(old);
                old = block;
        }
        return 0;
}
