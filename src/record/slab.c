/* SPDX-License-Identifier: MIT */
#include "record/slab.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"
#include "base/vec.h"

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

enum { REGION_MAX_UNITS = REGION_MAX_BYTES / SLAB_UNIT_BYTES };

struct region {
        char *memory;
        uint32_t n_units, n_free;
        uint32_t cursor;   /* word to look at first */
        uint32_t too_many; /* so many units in a row were not free, and none was freed since */
        uint64_t used[REGION_MAX_UNITS / 64]; /* a bit for each unit */
};

static VEC(struct region *) regions;
static size_t next_region_bytes = REGION_MIN_BYTES;

static void *slab_plain(size_t n_bytes, size_t align_bytes) {
        void *p = aligned_alloc(align_bytes, n_bytes);

        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

static struct region *slab_add_region(void) {
        struct region *r = calloc(1, sizeof(*r));

        if (!r)
                abort();
        r->memory = slab_plain(next_region_bytes, next_region_bytes);
        r->n_units = r->n_free = (uint32_t)(next_region_bytes / SLAB_UNIT_BYTES);
        r->too_many = UINT32_MAX;
        if (next_region_bytes == REGION_MAX_BYTES)
                madvise(r->memory, REGION_MAX_BYTES, MADV_HUGEPAGE);
        next_region_bytes = MIN(next_region_bytes * 2, (size_t)REGION_MAX_BYTES);
        vec_push(&regions, r);
        return r;
}

static void region_flip(struct region *r, uint32_t first, uint32_t n_units) {
        r->used[first / 64] ^= (((uint64_t)1 << n_units) - 1) << first % 64;
}

/* Bits that begin a row of n bits that are set (n > 0): every step lets those stand that begin a longer one. */
static uint64_t rows_of(uint64_t bits, uint32_t n) {
        while (n > 1) {
                bits &= bits >> n / 2;
                n -= n / 2;
        }
        return bits;
}

/* A piece lies within one word of the map. */
static void *region_take(struct region *r, uint32_t n_units) {
        uint32_t n_words = r->n_units / 64;

        if (r->n_free < n_units || n_units >= r->too_many)
                return NULL;
        for (uint32_t i = 0; i < n_words; i++) {
                uint32_t word = (r->cursor + i) % n_words;
                uint64_t fits = rows_of(~r->used[word], n_units);

                if (fits) {
                        uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(fits);

                        region_flip(r, at, n_units);
                        r->n_free -= n_units;
                        r->cursor = word;
                        return r->memory + (size_t)at * SLAB_UNIT_BYTES;
                }
        }
        r->too_many = n_units;
        return NULL;
}

static void *slab_cut(uint32_t n_units) {
        void *p = NULL;

        for (size_t i = 0; !p && i < regions.n; i++)
                p = region_take(regions.items[i], n_units);
        return p ? p : region_take(slab_add_region(), n_units);
}

static void slab_put(char *p, uint32_t n_units) {
        for (size_t i = regions.n; i-- > 0;) {
                struct region *r = regions.items[i];

                if (p < r->memory || p >= r->memory + (size_t)r->n_units * SLAB_UNIT_BYTES)
                        continue;
                region_flip(r, (uint32_t)((size_t)(p - r->memory) / SLAB_UNIT_BYTES), n_units);
                r->n_free += n_units;
                r->too_many = UINT32_MAX;
                return;
        }
}

void *slab_alloc(size_t n_units) {
        bool is_plain = SLAB_IS_PLAIN || n_units > SLAB_MAX_UNITS;
        void *p =
                is_plain ? slab_plain(n_units * SLAB_UNIT_BYTES, 64) : slab_cut((uint32_t)n_units);

        return memset(p, 0, n_units * SLAB_UNIT_BYTES);
}

void slab_free(void *piece, size_t n_units) {
        if (SLAB_IS_PLAIN || n_units > SLAB_MAX_UNITS)
                free(piece);
        else if (piece)
                slab_put(piece, (uint32_t)n_units);
}
