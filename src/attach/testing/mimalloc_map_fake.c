/* SPDX-License-Identifier: MIT */
#include "attach/testing/mimalloc_map_fake.h"

#include <string.h>

#include "attach/mimalloc_map.h"
#include "base/macros.h"

enum { SLICE_BITS = 16, MAP_BITS = 13, MAP_WORD = 5 };

uint64_t *mm_page(struct mm_fake *f, unsigned page) {
        return &f->pages[(size_t)page * MM_PAGE_WORDS];
}

static uint64_t meta_of(unsigned page) {
        return MM_META + (uint64_t)page * MM_PAGE_WORDS * 8;
}

/* slice: where it begins, from the areas' on. */
static void put_page(struct mm_fake *f, unsigned page, unsigned slice, unsigned n_slices,
                     uint64_t block_bytes, unsigned n_used, unsigned n_ever, unsigned n_room) {
        uint64_t *p = mm_page(f, page);

        p[2] = n_used | (uint64_t)n_ever << 16 | (uint64_t)n_room << 32;
        p[4] = 1; /* somebody has it */
        p[5] = block_bytes;
        p[6] = MM_AREA + ((uint64_t)slice << SLICE_BITS);
        for (unsigned i = 0; i < n_slices; i++)
                f->parts[slice + i] = meta_of(page);
}

static uint64_t block_at(unsigned i) {
        return MM_AREA + 64 * (uint64_t)i;
}

void mm_fill(struct mm_fake *f) {
        memset(f, 0, sizeof(*f));
        f->data[1] = MM_META;
        f->data[MAP_WORD] = MM_MAP;
        f->map_entry = MM_PART;
        put_page(f, 0, 0, 1, 64, 15, 20, 32);
        mm_page(f, 0)[1] = block_at(3); /* ready: 3, 7, 4 */
        f->blocks[8 * 3] = block_at(7);
        f->blocks[8 * 7] = block_at(4);
        mm_page(f, 0)[3] = block_at(0); /* released: 0, 19 */
        f->blocks[0] = block_at(19);
        mm_page(f, 0)[4] = block_at(11) | 1; /* by others: 11 */
        put_page(f, 1, 1, 2, 8192, 16, 16, 16);
        put_page(f, 2, 3, 17, 1 << 20, 1, 1, 1);
        put_page(f, 3, 20, 1, 512, 0, 0, 128);
        put_page(f, 4, 21, 1, 1024, 2, 2, 64);
}

static void overlay(uint64_t addr, void *ret, size_t n_bytes, uint64_t at, const void *bytes,
                    size_t n) {
        uint64_t begin = MAX(addr, at), end = MIN(addr + n_bytes, at + n);

        if (begin < end)
                memcpy((uint8_t *)ret + (begin - addr), (const uint8_t *)bytes + (begin - at),
                       (size_t)(end - begin));
}

static bool fake_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        const struct mm_fake *f = ctx;
        uint64_t slice = MM_AREA >> SLICE_BITS, upper = slice >> MAP_BITS;

        if (addr < MM_BASE || addr + n_bytes > MM_END)
                return false;
        memset(ret, 0, n_bytes);
        overlay(addr, ret, n_bytes, MM_META, f->pages, sizeof(f->pages));
        overlay(addr, ret, n_bytes, MM_AREA, f->blocks, sizeof(f->blocks));
        overlay(addr, ret, n_bytes, MM_MAP + upper * 8, &f->map_entry, 8);
        overlay(addr, ret, n_bytes, MM_MAP + (upper - 9) * 8, &f->other_entry, 8);
        overlay(addr, ret, n_bytes, MM_PART + (slice & ((1 << MAP_BITS) - 1)) * 8, f->parts,
                sizeof(f->parts));
        return true;
}

bool mm_list(struct mm_fake *f, struct heap_list *ret) {
        static const struct memory_span span = {MM_BASE, MM_END};
        struct memory m = {.read = fake_read, .ctx = f, .spans = &span, .n_spans = 1};

        return mimalloc_map_list(&m, f->data, MM_DATA_WORDS, meta_of(0), ret);
}
