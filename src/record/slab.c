/* SPDX-License-Identifier: MIT */
#include "record/slab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"

/* Sanitizers see each piece's life only when it has one of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define SLAB_IS_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_IS_PLAIN 1
#endif
#endif
#ifndef SLAB_IS_PLAIN
#define SLAB_IS_PLAIN 0
#endif

enum {
        REGION_MIN_BYTES = 64 << 10, /* a recording of a small program needs no large page */
        REGION_MAX_BYTES = 2 << 20,
};

struct piece {
        struct piece *next;
};

static struct piece *idle[SLAB_MAX_UNITS + 1]; /* by units */
static char *region, *region_end;              /* what is left of the newest one */
static size_t next_region_bytes = REGION_MIN_BYTES;

static void *slab_plain(size_t n_bytes, size_t align_bytes) {
        void *p = aligned_alloc(align_bytes, n_bytes);

        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

static void slab_put(void *p, size_t n_units) {
        struct piece *piece = p;

        piece->next = idle[n_units];
        idle[n_units] = piece;
}

/* The smallest piece that is large enough; what is left of it stays idle. */
static void *slab_take(size_t n_units) {
        for (size_t n = n_units; n <= SLAB_MAX_UNITS; n++) {
                struct piece *piece = idle[n];

                if (!piece)
                        continue;
                idle[n] = piece->next;
                if (n > n_units)
                        slab_put((char *)piece + n_units * SLAB_UNIT_BYTES, n - n_units);
                return piece;
        }
        return NULL;
}

static void slab_add_region(void) {
        size_t n_left = (size_t)(region_end - region) / SLAB_UNIT_BYTES;

        if (n_left > 0)
                slab_put(region, n_left);
        region = slab_plain(next_region_bytes, next_region_bytes);
        region_end = region + next_region_bytes;
        if (next_region_bytes == REGION_MAX_BYTES)
                madvise(region, REGION_MAX_BYTES, MADV_HUGEPAGE);
        next_region_bytes = MIN(next_region_bytes * 2, (size_t)REGION_MAX_BYTES);
}

static void *slab_cut(size_t n_units) {
        size_t n_bytes = n_units * SLAB_UNIT_BYTES;
        char *p = slab_take(n_units);

        if (p)
                return p;
        if ((size_t)(region_end - region) < n_bytes)
                slab_add_region();
        p = region;
        region += n_bytes;
        return p;
}

void *slab_alloc(size_t n_units) {
        bool is_plain = SLAB_IS_PLAIN || n_units > SLAB_MAX_UNITS;
        void *p = is_plain ? slab_plain(n_units * SLAB_UNIT_BYTES, 64) : slab_cut(n_units);

        return memset(p, 0, n_units * SLAB_UNIT_BYTES);
}

void slab_free(void *piece, size_t n_units) {
        if (SLAB_IS_PLAIN || n_units > SLAB_MAX_UNITS)
                free(piece);
        else if (piece)
                slab_put(piece, n_units);
}
