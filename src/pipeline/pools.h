/* SPDX-License-Identifier: MIT */
/* Where a process has blocks that its pools reported, for releases by range: the live table knows them by their
 * address alone. One bit per address, in pages of 512 bytes that have any: 80 bytes a page, and nothing for
 * programs without such pools.
 *
 * Bits are set by allocations and cleared by ranges, not by single releases: there may be bits of blocks that are
 * gone, never a block without its bit. When the pages have doubled, those that are empty go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { POOLS_MIN_SWEEP = 8 }; /* within reach of small inputs */
#else
enum { POOLS_MIN_SWEEP = 1 << 16 };
#endif
enum { POOLS_PAGE_BYTES = 512 };

struct pools_page {
        uint64_t no; /* address / POOLS_PAGE_BYTES */
        uint64_t bits[POOLS_PAGE_BYTES / 64];
};

struct pools {
        struct map places; /* number of a page → its place */
        VEC(struct pools_page) pages;
        size_t n_swept; /* pages left by the last sweep */
};

void pools_done(struct pools *p);
void pools_copy(struct pools *to, const struct pools *from); /* to: zeroed */
void pools_add(struct pools *p, uint64_t address);

/* Calls fn for every address in [begin, end); true: its bit stays. Looks at no more pages than the range or the
 * index has. */
void pools_visit(struct pools *p, uint64_t begin, uint64_t end,
                 bool (*fn)(void *ctx, uint64_t address), void *ctx);

static inline bool pools_wants_sweep(const struct pools *p) {
        return p->pages.n >= POOLS_MIN_SWEEP && p->pages.n >= 2 * p->n_swept;
}

/* Forgets all that is_live says no to. */
void pools_sweep(struct pools *p, bool (*is_live)(void *ctx, uint64_t address), void *ctx);
