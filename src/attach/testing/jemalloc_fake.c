/* SPDX-License-Identifier: MIT */
#include "attach/testing/jemalloc_fake.h"

#include <string.h>

#include "attach/jemalloc_blocks.h"
#include "base/macros.h"

enum {
        BINS_OFF = 12288, /* in an arena: anywhere behind the number of active pages */
        N_USED = 3,       /* small classes that have blocks in each arena */
};

struct je_config je_config_at(unsigned i) {
        return (struct je_config){.is_old = i & 1,
                                  .mutex_bytes = i & 2 ? 112 : 120,
                                  .quantum_bytes = i & 4 ? 8 : 16,
                                  .is_tree = i & 8,
                                  .has_large_pad = i & 16,
                                  .is_wide = i % 3 == 1,
                                  .n_shards = i % 7 == 6 ? 2 : 1,
                                  .page_bytes = 4096u << (i / 32 % 3 * 2)};
}

/* ---- classes ---------------------------------------------------------------------------------------------- */

/* The sizes as they are listed, one after the other. */
static uint64_t class_bytes(const struct je_config *c, unsigned class) {
        uint64_t bytes = 0, step = c->quantum_bytes;

        if (class == 0)
                return 8;
        for (unsigned i = 0; i < class + (c->quantum_bytes == 8); i++) {
                if (bytes >= 8 * step)
                        step *= 2;
                bytes += step;
        }
        return bytes;
}

static unsigned n_small(const struct je_config *c) {
        unsigned n = 0;

        while (class_bytes(c, n) < 4 * (uint64_t)c->page_bytes)
                n++;
        return n;
}

static unsigned n_classes(const struct je_config *c) {
        return c->quantum_bytes == 8 ? 235 : 232;
}

static uint64_t slab_bytes(const struct je_config *c, unsigned class) {
        uint64_t bytes = c->page_bytes;

        while (bytes % class_bytes(c, class))
                bytes += c->page_bytes;
        return bytes;
}

/* ---- places ------------------------------------------------------------------------------------------------ */

static uint64_t *arena_word(struct je_fake *f, unsigned arena, size_t off) {
        return &f->heaps[arena][(JE_ARENA_OFF + off) / 8];
}

static size_t large_end(const struct je_config *c) {
        return (c->is_old ? 768 : 976) + 48 * (size_t)(n_classes(c) - n_small(c));
}

uint64_t *je_bin(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned class) {
        size_t bin = c->mutex_bytes + (c->is_old ? 168 : 112);

        return arena_word(f, arena,
                          BINS_OFF + bin * class * c->n_shards + c->mutex_bytes +
                                  (c->is_old ? 24 : 0));
}

uint64_t *je_large(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned large) {
        return arena_word(f, arena, (c->is_old ? 768 : 976) + 48 * (size_t)large);
}

uint64_t *je_active(struct je_fake *f, const struct je_config *c, unsigned arena) {
        return arena_word(f, arena,
                          large_end(c) +
                                  (c->is_old ? 56 + c->mutex_bytes : 48 + 2 * c->mutex_bytes));
}

uint64_t *je_base(struct je_fake *f, const struct je_config *c, unsigned arena) {
        (void)c;
        return arena_word(f, arena, BINS_OFF - 16);
}

/* ---- filling ----------------------------------------------------------------------------------------------- */

static void put_tables(struct je_fake *f, const struct je_config *c) {
        for (unsigned i = 0; i < n_small(c); i++) {
                uint64_t *at = &f->data[JE_TABLE_WORD + (size_t)i * (c->is_tree ? 11 : 5)];
                uint64_t n_regions = slab_bytes(c, i) / class_bytes(c, i);

                at[0] = class_bytes(c, i);
                at[1] = slab_bytes(c, i);
                at[2] = n_regions | (uint64_t)c->n_shards << 32;
                at[3] = n_regions;
                at[4] = 1;
        }
}

static void put_arena(struct je_fake *f, const struct je_config *c, unsigned arena,
                      uint32_t index) {
        uint64_t at = arena ? JE_OTHER : JE_HEAP;

        f->heaps[arena][0] = index | UINT64_C(7) << 32; /* its base */
        *je_base(f, c, arena) = at;
        je_base(f, c, arena)[1] = 123456789; /* when it was made */
        f->data[JE_ARENAS_WORD + index] = at + JE_ARENA_OFF;
}

/* Two full slabs, one that is being filled, and one that is partly free. */
static void put_blocks(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned class,
                       struct jemalloc_found *to) {
        uint64_t n_regions = slab_bytes(c, class) / class_bytes(c, class);
        uint64_t n = 2 * n_regions + 1 + n_regions / 2, *bin = je_bin(f, c, arena, class);
        const uint64_t figures[JE_FIGURES_WORDS] = {n + 7, 7, 3, n, 2, 1, 5, 1, 4, 1};

        memcpy(bin, figures, sizeof(figures));
        *je_active(f, c, arena) += 4 * slab_bytes(c, class) / c->page_bytes;
        to->held_bytes += 4 * slab_bytes(c, class);
        to->used_bytes += n * class_bytes(c, class);
}

static void put_large(struct je_fake *f, const struct je_config *c, unsigned arena, unsigned large,
                      struct jemalloc_found *to) {
        uint64_t bytes = class_bytes(c, n_small(c) + large), *at = je_large(f, c, arena, large);
        uint64_t with_pad = bytes + (c->has_large_pad ? c->page_bytes : 0);

        at[0] = 9;
        at[1] = 7;
        at[2] = 4;
        *je_active(f, c, arena) += 2 * with_pad / c->page_bytes;
        to->held_bytes += 2 * with_pad;
        to->used_bytes += 2 * bytes;
}

static const unsigned classes[2][N_USED] = {{0, 3, 20}, {2, 9, 30}};

struct jemalloc_found je_fill(struct je_fake *f, const struct je_config *c) {
        struct jemalloc_found found = {.n_arenas = 2};

        memset(f, 0, sizeof(*f));
        f->data[JE_ARENAS_WORD - 1] = 1;
        put_tables(f, c);
        put_arena(f, c, 0, 0);
        put_arena(f, c, 1, JE_OTHER_INDEX);
        for (unsigned arena = 0; arena < 2; arena++) {
                for (unsigned i = 0; i < N_USED; i++)
                        put_blocks(f, c, arena, classes[arena][i], &found);
                put_large(f, c, arena, 2 * arena, &found);
        }
        return found;
}

void je_drop_figures(struct je_fake *f, const struct je_config *c) {
        for (unsigned arena = 0; arena < 2; arena++) {
                for (unsigned i = 0; i < N_USED; i++)
                        memset(je_bin(f, c, arena, classes[arena][i]), 0, JE_FIGURES_WORDS * 8);
                memset(je_large(f, c, arena, 2 * arena), 0, 3 * 8);
        }
}

/* ---- extents ----------------------------------------------------------------------------------------------- */

static void put_link(struct je_fake *f, uint64_t at, uint64_t value) {
        f->links[f->n_links++] = (struct je_link){at, value};
}

/* Entries of the root, of a node and of a leaf, by bits of an address. */
static void bits_of_tree(const struct je_config *c, unsigned ret[3]) {
        unsigned page_bits = (unsigned)__builtin_ctz(c->page_bytes),
                 n = (c->is_wide ? 57 : 48) - page_bits;

        ret[0] = n / (c->is_wide ? 3 : 2);
        ret[1] = c->is_wide ? n / 3 + n % 3 / 2 : 0;
        ret[2] = n - ret[0] - ret[1];
}

static void link_page(struct je_fake *f, const struct je_config *c, uint64_t addr,
                      uint64_t extent) {
        uint64_t page = addr / c->page_bytes;
        unsigned bits[3];

        bits_of_tree(c, bits);
        put_link(f, JE_LEAF + (page & ((UINT64_C(1) << bits[2]) - 1)) * (c->is_wide ? 16 : 8),
                 c->is_wide ? extent : extent | UINT64_C(9) << 48 | 3);
}

/* The first n_used of its regions are in use; of a large block, 1. */
static void put_extent(struct je_fake *f, const struct je_config *c, uint64_t *addr, unsigned class,
                       uint64_t n_used) {
        bool is_slab = class < n_small(c);
        uint64_t n_regions = is_slab ? slab_bytes(c, class) / class_bytes(c, class) : 0;
        uint64_t bytes = is_slab ? slab_bytes(c, class)
                                 : class_bytes(c, class) + (c->has_large_pad ? c->page_bytes : 0);
        uint64_t *e = &f->extents[(size_t)f->n_extents * JE_EXTENT_WORDS],
                 at = JE_EXTENTS + 8 * (uint64_t)(e - f->extents);

        f->n_extents++;
        e[0] = 3 | (uint64_t)is_slab << 12 | (uint64_t) class << (c->is_old ? 18 : 20) |
               (n_regions - MIN(n_used, n_regions)) << (c->is_old ? 26 : 28);
        e[1] = *addr + (!is_slab && c->has_large_pad ? 192 : 0);
        e[2] = bytes | 5;
        for (uint64_t i = n_used; i < n_regions; i++)
                e[8 + i / 64] |= UINT64_C(1) << i % 64;
        link_page(f, c, *addr, at);
        link_page(f, c, *addr + bytes - c->page_bytes, at);
        *addr += bytes;
}

bool je_fill_tree(struct je_fake *f, const struct je_config *c) {
        uint64_t addr = JE_HEAP + (UINT64_C(16) << 20), page = addr / c->page_bytes;
        unsigned bits[3];
        uint64_t *root;

        bits_of_tree(c, bits);
        if (UINT64_C(1) << bits[0] > JE_DATA_WORDS - JE_ROOT_WORD)
                return false;
        root = &f->data[JE_ROOT_WORD + (page >> (bits[1] + bits[2]))];
        *root = c->is_wide ? JE_NODE : JE_LEAF;
        if (c->is_wide)
                put_link(f, JE_NODE + 8 * (page >> bits[2] & ((UINT64_C(1) << bits[1]) - 1)),
                         JE_LEAF);
        for (unsigned arena = 0; arena < 2; arena++) {
                for (unsigned i = 0; i < N_USED; i++) {
                        unsigned class = classes[arena][i];
                        uint64_t n_regions = slab_bytes(c, class) / class_bytes(c, class);

                        put_extent(f, c, &addr, class, n_regions);
                        put_extent(f, c, &addr, class, n_regions);
                        put_extent(f, c, &addr, class, 1);
                        put_extent(f, c, &addr, class, n_regions / 2);
                }
                put_extent(f, c, &addr, n_small(c) + 2 * arena, 1);
                put_extent(f, c, &addr, n_small(c) + 2 * arena, 1);
        }
        return true;
}

/* ---- words ------------------------------------------------------------------------------------------------- */

uint64_t *je_word(struct je_fake *f, uint16_t number) {
        size_t n_root = JE_DATA_WORDS - JE_ROOT_WORD, word = number % (sizeof(*f) / 8 - n_root);

        return (uint64_t *)f + (word < JE_ROOT_WORD ? word : word + n_root);
}

uint16_t je_number(const struct je_fake *f, const uint64_t *word) {
        size_t n = (size_t)(word - (const uint64_t *)f);

        return (uint16_t)(n < JE_ROOT_WORD ? n : n - (JE_DATA_WORDS - JE_ROOT_WORD));
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static void overlay(uint64_t addr, void *ret, size_t n_bytes, uint64_t at, const void *bytes,
                    size_t n) {
        uint64_t begin = MAX(addr, at), end = MIN(addr + n_bytes, at + n);

        if (begin < end)
                memcpy((uint8_t *)ret + (begin - addr), (const uint8_t *)bytes + (begin - at),
                       (size_t)(end - begin));
}

static bool fake_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct je_reader *r = ctx;
        const struct je_fake *f = r->fake;
        uint64_t heap = addr >= JE_OTHER ? JE_OTHER : JE_HEAP;

        if (!r->n_reads_left || addr < JE_HEAP || addr - heap + n_bytes > JE_HEAP_BYTES)
                return false;
        r->n_reads_left--;
        if (r->between)
                r->between(r->fake, r->n_reads);
        r->n_reads++;
        memset(ret, 0, n_bytes);
        overlay(addr, ret, n_bytes, heap, f->heaps[heap == JE_OTHER], sizeof(f->heaps[0]));
        overlay(addr, ret, n_bytes, JE_EXTENTS, f->extents, sizeof(f->extents));
        for (uint32_t i = 0; i < f->n_links && i < JE_N_LINKS; i++)
                overlay(addr, ret, n_bytes, f->links[i].at, &f->links[i].value, 8);
        return true;
}

static struct memory memory_of(struct je_reader *r) {
        static const struct memory_span spans[] = {{JE_HEAP, JE_HEAP + JE_HEAP_BYTES},
                                                   {JE_OTHER, JE_OTHER + JE_HEAP_BYTES}};

        return (struct memory){.read = fake_read, .ctx = r, .spans = spans, .n_spans = 2};
}

bool je_list(struct je_reader *r, struct heap_list *ret) {
        struct memory m = memory_of(r);

        return jemalloc_list(&m, r->fake->data, JE_DATA_WORDS, ret);
}

bool je_read(struct je_reader *r, struct jemalloc_found *ret) {
        struct memory m = memory_of(r);

        return jemalloc_read(&m, r->fake->data, JE_ROOT_WORD, ret); /* the root is not needed */
}

bool je_find(struct je_reader *r, struct jemalloc_found *ret) {
        struct memory m = memory_of(r);

        return jemalloc_find(&m, r->fake->data, JE_ROOT_WORD, ret);
}
