/* SPDX-License-Identifier: MIT */
/* Sizes that cannot be had. Each call below returns no block, counts as failed and as nothing else:
 *
 *   4  malloc(SIZE_MAX), malloc(PTRDIFF_MAX + 1), calloc(SIZE_MAX, 2), calloc(2^33, 2^33)
 *   3  realloc(live, SIZE_MAX), reallocarray(live, 2^33, 2^33), realloc(NULL, SIZE_MAX)
 *   5  memalign, aligned_alloc, posix_memalign, valloc, pvalloc of PTRDIFF_MAX
 *   2  posix_memalign with an alignment of 3, with one of 4 (less than a pointer)
 *   1  malloc(2^62), a size malloc tries and the kernel refuses
 * The live block of 100 bytes survives both failing reallocations and is freed at the end; nothing
 * was allocated since: temporary. A block of 28 bytes comes first and stays. errno must be the
 * library's. */
#include "truth.h"
#include <errno.h>
#include <malloc.h>

int main(void) {
        volatile size_t max = SIZE_MAX, half = (size_t)PTRDIFF_MAX, wide = (size_t)1 << 33, two = 2;
        void *out = (void *)1;
        char *kept = malloc(28), *live = malloc(100);

        MUST(kept && live);
        live[99] = 42;
        errno = 0;
        MUST(!malloc(max) && errno == ENOMEM);
        MUST(!malloc(half + 1));
        MUST(!calloc(max, two) && errno == ENOMEM);
        MUST(!calloc(wide, wide));
        MUST(!realloc(live, max) && errno == ENOMEM);
        MUST(!reallocarray(live, wide, wide));
        MUST(!realloc(NULL, max));
        MUST(!memalign(64, half));
        MUST(!aligned_alloc(64, half));
        errno = 0;
        MUST(posix_memalign(&out, 64, half) == ENOMEM);
        MUST(!valloc(half) && !pvalloc(half));
        MUST(posix_memalign(&out, 3, 10) == EINVAL && out == (void *)1);
        MUST(posix_memalign(&out, 4, 10) == EINVAL && out == (void *)1);
        MUST(!malloc((size_t)1 << 62));
        MUST(live[99] == 42);
        free(live);
        return 0;
}
