/* SPDX-License-Identifier: MIT */
#include "base/large_pages.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"

enum { LARGE_PAGE_BYTES = 2 << 20, LARGE_LINE_BYTES = 64 };

static void large_fail(void) {
        fputs("silt: out of memory\n", stderr);
        abort();
}

static size_t large_mapped_bytes(size_t n_bytes) {
        return ALIGN_UP(n_bytes, (size_t)LARGE_PAGE_BYTES);
}

/* The kernel gives no more than small pages the place they need: what is too much at both ends goes back. */
static void *large_map(size_t n_bytes) {
        size_t want_bytes = large_mapped_bytes(n_bytes), all_bytes = want_bytes + LARGE_PAGE_BYTES;
        char *all =
                mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *p;

        if (all == MAP_FAILED)
                large_fail();
        p = (char *)ALIGN_UP((uintptr_t)all, (uintptr_t)LARGE_PAGE_BYTES);
        if (p > all)
                munmap(all, (size_t)(p - all));
        if (p + want_bytes < all + all_bytes)
                munmap(p + want_bytes, (size_t)(all + all_bytes - p) - want_bytes);
        madvise(p, want_bytes, MADV_HUGEPAGE);
        return p;
}

void *large_calloc(size_t n_bytes) {
        size_t small_bytes = ALIGN_UP(n_bytes, (size_t)LARGE_LINE_BYTES);
        void *p;

        if (n_bytes >= LARGE_PAGE_BYTES)
                return large_map(n_bytes);
        p = aligned_alloc(LARGE_LINE_BYTES, small_bytes);
        if (!p)
                large_fail();
        return memset(p, 0, small_bytes);
}

void large_free(void *p, size_t n_bytes) {
        if (p && n_bytes >= LARGE_PAGE_BYTES)
                munmap(p, large_mapped_bytes(n_bytes));
        else
                free(p);
}
