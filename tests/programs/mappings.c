/* SPDX-License-Identifier: MIT */
/* A program with mappings of its own: mmap, mremap, munmap and brk. They are no allocations, and
 * have a table.
 *
 *   mmap 1 MiB (a), 2 MiB (b), 4 KiB (c); mremap of a to 3 MiB; munmap of b; munmap of the upper
 *   half of the new a; sbrk(+64 KiB), sbrk(-64 KiB)
 *   at most 3 MiB + 2 MiB + 4 KiB at once, when a has grown; left: a's lower 1.5 MiB and c
 *   heap: malloc(10) kept; it comes last, so that its own brk or mmap is not ours */
#include "truth.h"
#include <sys/mman.h>

static char *map(size_t bytes) {
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(p != MAP_FAILED);
        return p;
}

int main(void) {
        size_t mib = 1 << 20;
        char *a = map(mib), *b = map(2 * mib), *c = map(4096);

        a = mremap(a, mib, 3 * mib, MREMAP_MAYMOVE);
        MUST(a != MAP_FAILED);
        MUST(munmap(b, 2 * mib) == 0);
        MUST(munmap(a + 3 * mib / 2, 3 * mib / 2) == 0);
        MUST(sbrk(64 << 10) != (void *)-1 && sbrk(-(64 << 10)) != (void *)-1);
        c[0] = a[0] = 1;
        MUST(malloc(10));
        return 0;
}
