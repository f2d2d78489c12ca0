/* SPDX-License-Identifier: MIT */
#include "attach/jemalloc_tables.h"

#include "base/macros.h"

enum {
        MIN_PAGE_BYTES = 4096,
        MAX_PAGE_BYTES = 65536,
        MAX_SHARDS = 64,           /* bins of a class in an arena */
        MAX_SLAB_BYTES = 16 << 20, /* far more than any is */
};

/* Sizes are one, two, three and four quanta, and then four to each doubling. */
static void classes_init(struct jemalloc_tables *c, uint64_t quantum_bytes) {
        uint64_t base = 4 * quantum_bytes, step = quantum_bytes;

        c->n_classes = 0;
        if (quantum_bytes > 8)
                c->class_bytes[c->n_classes++] = 8;
        for (uint64_t i = 1; i <= 4; i++)
                c->class_bytes[c->n_classes++] = i * quantum_bytes;
        for (; base <= UINT64_C(1) << 62; base *= 2, step *= 2)
                for (uint64_t i = 1; i <= 4 && base + i * step < UINT64_C(1) << 63; i++)
                        c->class_bytes[c->n_classes++] = base + i * step;
}

/* An entry of bin_infos: size, bytes of a slab, regions in it and shards, regions again; then what differs by configuration. */
static bool read_small(const uint64_t *at, uint64_t page_bytes, uint64_t class_bytes,
                       struct jemalloc_small *ret) {
        *ret = (struct jemalloc_small){at[1], (uint32_t)at[2], (uint32_t)(at[2] >> 32)};
        return at[0] == class_bytes && ret->slab_bytes && ret->slab_bytes % page_bytes == 0 &&
               ret->slab_bytes <= MAX_SLAB_BYTES &&
               ret->n_regions * class_bytes == ret->slab_bytes && at[3] == ret->n_regions &&
               ret->n_shards >= 1 && ret->n_shards <= MAX_SHARDS;
}

static bool read_tables(const uint64_t *at, size_t n_words, size_t entry_words,
                        uint64_t quantum_bytes, struct jemalloc_tables *ret) {
        *ret = (struct jemalloc_tables){.page_bytes = at[1]};
        classes_init(ret, quantum_bytes);
        /* classes from four pages on, and the three before them, are not small */
        while (ret->n_small < JEMALLOC_MAX_SMALL &&
               2 * ret->class_bytes[ret->n_small] <= 7 * ret->page_bytes) {
                struct jemalloc_small *s = &ret->small[ret->n_small];

                if ((ret->n_small + 1) * entry_words > n_words ||
                    !read_small(at + ret->n_small * entry_words, ret->page_bytes,
                                ret->class_bytes[ret->n_small], s))
                        return false;
                ret->n_bins += s->n_shards;
                ret->n_small++;
        }
        return true;
}

bool jemalloc_tables_find(const uint64_t *data, size_t n_words, struct jemalloc_tables *ret) {
        static const size_t entries[] = {5, 11}; /* words: bitmaps of slabs are flat, or trees */

        for (size_t i = 0; i + 4 <= n_words; i++) {
                uint64_t page = data[i + 1];

                if (data[i] != 8 || page < MIN_PAGE_BYTES || page > MAX_PAGE_BYTES ||
                    page & (page - 1))
                        continue;
                for (size_t k = 0; k < ARRAY_SIZE(entries); k++)
                        if (read_tables(data + i, n_words - i, entries[k], 16, ret) ||
                            read_tables(data + i, n_words - i, entries[k], 8, ret))
                                return true;
        }
        return false;
}
