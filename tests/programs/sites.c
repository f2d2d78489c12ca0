/* SPDX-License-Identifier: MIT */
/* 4,096 different call paths to one malloc: a binary tree of calls 12 levels deep, taken 3 times.
 *
 *   allocations 3 * 4,096 of 5 bytes, all kept; sites: one per path, 4,096. */
#include "truth.h"

__attribute__((noinline)) static int down(int levels) {
        if (levels == 0) {
                MUST(malloc(5));
                return 1;
        }
        int left = down(levels - 1);
        __asm__ volatile("" : "+r"(left));
        int right = down(levels - 1);
        __asm__ volatile("" : "+r"(right));
        return left + right;
}

int main(void) {
        for (int i = 0; i < 3; i++)
                MUST(down(12) == 4096);
        return 0;
}
