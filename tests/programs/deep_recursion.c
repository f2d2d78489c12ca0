/* SPDX-License-Identifier: MIT */
/* 100,000 levels of recursion with an allocation at each, and one more on the way back.
 *
 * Level n (100,000 .. 1) allocates n % 7 + 1 bytes, goes down, and coming back allocates 2 bytes,
 * frees them (temporary) and frees its own (another allocation came after: not temporary; at the
 * deepest level too).
 *   allocations 200,000   frees 200,000   temporary 100,000
 *   bytes: n % 7 + 1 over 1..100,000: 14,285 whole sevens of 28 = 399,980, and 99,996..100,000 =
 *     residues 1, 2, 3, 4, 5 + 1 each = 20: 400,000; and 200,000 for the small ones: 600,000
 *   peak: at the bottom: 400,000 + 2 in 100,001
 * Each level is 32 to 64 bytes of stack: it fits the default 8 MiB. */
#include "truth.h"

__attribute__((noinline)) static void down(int n) {
        void *block = malloc(n % 7 + 1);

        if (n > 1)
                down(n - 1);
        free(malloc(2));
        free(block);
}

int main(void) {
        down(100000);
        return 0;
}
