/* SPDX-License-Identifier: MIT */
/* Chains of realloc: up byte by byte, down again, three chains interleaved, and through an mmapped
 * size.
 *
 * Chain 1: malloc(1), then realloc to 2..1000: 1,000 allocations of 1..1000 = 500,500 bytes, 999
 * frees, each of a block that was the thread's last allocation: 999 temporary. Then realloc to
 * 999..1: 999 more allocations of 499,500 bytes, 999 frees and temporary. free: 1 more of each.
 *   allocations 1,999   frees 1,999   reallocations 1,998   bytes 1,000,000   temporary 1,999
 * Chain 2: three chains a, b, c of malloc(10) grown in turn to 20, 30 .. 1,000: per chain 100
 * allocations of 10 * (1 + .. + 100) = 50,500 bytes and 99 reallocations; with two other
 * allocations in between, none is temporary. Freed c, b, a: c was the last allocation: 1 temporary.
 *   allocations 300   frees 300   reallocations 297   bytes 151,500   temporary 1   peak 3,000 in 3
 * Chain 3: 100 -> 1 MiB -> 4 MiB -> 16 MiB (mremap) -> 1 MiB -> 50, kept.
 *   allocations 6   frees 5   reallocations 5   bytes 100 + 1 MiB + 4 MiB + 16 MiB + 1 MiB + 50
 *   temporary 5
 * A reallocation releases first: the peak is 16 MiB in 1 block, not 20. */
#include "truth.h"

int main(void) {
        char *p = malloc(1);
        for (int size = 2; size <= 1000; size++)
                p = realloc(p, size);
        for (int size = 999; size >= 1; size--)
                p = realloc(p, size);
        free(p);

        char *chain[3] = {malloc(10), malloc(10), malloc(10)};
        for (int size = 20; size <= 1000; size += 10)
                for (int i = 0; i < 3; i++)
                        chain[i] = realloc(chain[i], size);
        for (int i = 2; i >= 0; i--)
                free(chain[i]);

        static const size_t sizes[] = {1 << 20, 4 << 20, 16 << 20, 1 << 20, 50};
        char *q = malloc(100);
        q[99] = 7;
        for (int i = 0; i < 5; i++)
                q = realloc(q, sizes[i]);
        MUST(q);
        return 0;
}
