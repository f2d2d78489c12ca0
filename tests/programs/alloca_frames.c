/* SPDX-License-Identifier: MIT */
/* alloca and variable-length arrays: frames whose size is not in any table, found by the frame
 * pointer's rule.
 *
 * For each n in 1..500: a frame with alloca(n) and a char[2 n + 1] allocates n bytes, calls a
 * second frame that allocates 8 and frees it (temporary), and returns the block, which is freed
 * when the next one exists (not temporary); the last one stays.
 *   allocations 1,000   frees 999   bytes 125,250 + 4,000   temporary 500
 * Peak: in round 500: 499 + 500 (the old one is freed after), + 8 while the second frame runs: the
 * second frame runs after the allocation of n: 499 + 500 + 8 = 1,007 in 3.  End: 500 in 1. Sites:
 * 2, whatever the frame. */
#include "truth.h"
#include <alloca.h>

__attribute__((noinline)) static void inner(volatile char *a, volatile char *b) {
        a[0] = b[0] = 1;
        free(malloc(8));
}

__attribute__((noinline)) static void *outer(int n) {
        volatile char *on_stack = alloca(n);
        volatile char array[2 * n + 1];
        void *block = malloc(n);

        inner(on_stack, array);
        array[2 * n] = on_stack[0];
        return block;
}

int main(void) {
        void *old = NULL;

        for (int n = 1; n <= 500; n++) {
                void *block = outer(n);
                free(old);
                old = block;
        }
        return 0;
}
