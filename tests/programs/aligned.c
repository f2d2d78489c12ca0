/* SPDX-License-Identifier: MIT */
/* Every aligned form, at every power of two that makes sense; size is what was asked, not what it
 * became.
 *
 * For each alignment 16, 32 .. 65,536 (13 of them, 131,056 together), with size = alignment + 1:
 *   memalign, aligned_alloc, posix_memalign: 39 allocations, 3 * (131,056 + 13) = 393,207 bytes
 * valloc(100), pvalloc(100) (rounds itself up to a page; asked: 100): 2 allocations, 200 bytes
 * memalign(24, 48) (no power of two: glibc rounds the alignment up): 1 allocation, 48 bytes
 * realloc of a memalign block of 4,096 to 5,000, and free: 2 allocations, 9,096 bytes, 2 temporary
 * The 42 first ones stay: 393,455 bytes. The peak comes with the 5,000: 398,455 in 43 blocks. */
#include "truth.h"
#include <malloc.h>

int main(void) {
        for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
                void *out = NULL;
                void *a = memalign(alignment, alignment + 1);
                void *b = aligned_alloc(alignment, alignment + 1);
                MUST(posix_memalign(&out, alignment, alignment + 1) == 0);
                MUST((uintptr_t)a % alignment == 0 && (uintptr_t)b % alignment == 0);
                MUST(out && (uintptr_t)out % alignment == 0);
                MUST(malloc_usable_size(a) > alignment);
        }
        MUST((uintptr_t)valloc(100) % 4096 == 0);
        MUST((uintptr_t)pvalloc(100) % 4096 == 0);
        volatile size_t odd = 24;
        MUST(memalign(odd, 48));
        char *p = memalign(4096, 4096);
        p = realloc(p, 5000);
        MUST(p);
        free(p);
        return 0;
}
