/* SPDX-License-Identifier: MIT */
#include "attach/jemalloc_blocks.h"

#include <stdlib.h>

#include "attach/jemalloc.h"
#include "attach/jemalloc_caches.h"
#include "attach/jemalloc_tables.h"
#include "attach/layouts.h"
#include "base/macros.h"

enum {
        BASE_BYTES = 2 << 20,    /* what it knows is in pieces of that size, at multiples of it */
        EXTENT_ALIGN_BYTES = 64, /* so the lowest bits of a pointer to one say other things */
        ARENA_BITS = 12,         /* the lowest of its first word */
        STATE_ACTIVE = 0,
        STATE_DIRTY = 1,
        STATE_MUZZY = 2,         /* then what has no memory any more */
        MAX_REGIONS = 1 << 13,   /* in a slab */
        AT_ONCE = 512,           /* words of a leaf that are read together */
        ZEROS_BEHIND = 4096,     /* words behind an entry of the root: most of them are 0 */
        MAX_ENTRIES_BEHIND = 64, /* of them that are not */
};

/* How the tree was built, by the addresses that the machine may have which built it. An entry of a leaf is a pointer with other things in its unused bits, or a
 * pointer and a word with these. */
struct geometry {
        uint8_t address_bits, n_levels, entry_words;
};

static const struct geometry geometries[] = {{48, 2, 1}, {57, 3, 2}};

enum { ROOT, NODE, LEAF, N_KINDS };

#define MAX_READ_BYTES (UINT64_C(1) << 30) /* of what looks like a leaf and is none */
#define MAX_WALK_BYTES                                                                             \
        (UINT64_C(4)                                                                               \
         << 30) /* of leaves, each of which stands for a gigabyte of addresses or more */

struct walk {
        struct memory_words words;
        struct jemalloc_tables tables;
        const uint64_t *data;
        size_t n_words;
        const struct geometry *geometry;
        unsigned bits
                [N_KINDS]; /* of an address: that say where in one of these; of a tree without nodes, 0 */
        unsigned page_bits;
        uint64_t n_bytes_left; /* to read */
        const struct jemalloc_layout *layout;
        struct heap_list list;           /* by address */
        VEC(struct memory_span) extents; /* in use, by address */
        uint64_t used_bytes, all_bytes;
        uint64_t held_bytes; /* extents in use */
        uint64_t pad_bytes;  /* of a large block, where its extent alone says how large it is */
        bool lacks_figures;  /* extents in use are all that can be compared */
};

struct extent {
        uint64_t at, bits, addr, size_bytes;
};

static uint64_t bits_of(uint64_t word, unsigned first, unsigned n) {
        return word >> first & ((UINT64_C(1) << n) - 1);
}

/* ---- extents ---------------------------------------------------------------------------------------------- */

static bool read_extent(struct walk *w, uint64_t at, struct extent *ret) {
        const struct memory_span *span;
        uint64_t size;

        ret->at = at;
        if (!memory_word(&w->words, at, &ret->bits) ||
            !memory_word(&w->words, at + w->layout->extent_addr_off, &ret->addr) ||
            !memory_word(&w->words, at + w->layout->extent_size_off, &size))
                return false;
        ret->size_bytes = size & -w->tables.page_bytes;
        span = memory_span_at(&w->words, ret->addr);
        return span && ret->size_bytes &&
               ret->size_bytes <= span->end - (ret->addr & -w->tables.page_bytes);
}

static void add_block(struct walk *w, uint64_t address, uint64_t size_bytes) {
        vec_push(&w->list.blocks, (struct heap_block){address, size_bytes});
        w->used_bytes += size_bytes;
}

static void add_free(struct walk *w, const struct extent *e, uint64_t address, uint64_t size_bytes,
                     enum heap_free_kind kind) {
        heap_frees_add(&w->list.frees,
                       (struct heap_free){address, size_bytes, kind,
                                          (uint32_t)bits_of(e->bits, 0, ARENA_BITS), 1});
}

/* A bit that is set is a region that is free. */
static bool add_slab(struct walk *w, const struct extent *e, unsigned class) {
        const struct jemalloc_small *s = &w->tables.small[class];
        uint64_t n_free = bits_of(e->bits, w->layout->free_bit, w->page_bits - 2), word = 0;

        if (e->size_bytes != s->slab_bytes || s->n_regions > MAX_REGIONS)
                return false;
        for (uint32_t i = 0; i < s->n_regions; i++) {
                if (i % 64 == 0 &&
                    !memory_word(&w->words, e->at + w->layout->extent_bitmap_off + i / 8, &word))
                        return false;
                if (!bits_of(word, i % 64, 1))
                        add_block(w, e->addr + i * w->tables.class_bytes[class],
                                  w->tables.class_bytes[class]);
                else if (n_free-- == 0)
                        return false;
                else
                        add_free(w, e, e->addr + i * w->tables.class_bytes[class],
                                 w->tables.class_bytes[class], HEAP_FREE_SLAB);
        }
        return n_free == 0;
}

/* Where a large block begins is drawn by lot, within a page more than it needs. */
static bool add_large(struct walk *w, const struct extent *e, unsigned class) {
        uint64_t bytes = w->tables.class_bytes[class];

        if (w->layout->has_large_sums) {
                uint64_t most = bytes, least = w->tables.class_bytes[class - 1];

                bytes = e->size_bytes - w->pad_bytes;
                if (bytes <= least || bytes > most || e->addr % w->tables.page_bytes > w->pad_bytes)
                        return false;
                add_block(w, e->addr, bytes);
                return true;
        }
        if (bytes + e->addr % w->tables.page_bytes > e->size_bytes ||
            (w->lacks_figures && e->size_bytes - bytes > w->tables.page_bytes))
                return false;
        add_block(w, e->addr, bytes);
        return true;
}

/* All of it: an extent that is not needed any more keeps its address. */
static void add_base(struct walk *w, uint64_t at) {
        for (size_t i = w->list.own.n; i-- > 0;)
                if (w->list.own.items[i].begin == at)
                        return;
        vec_push(&w->list.own, (struct memory_span){at, at + BASE_BYTES});
}

static bool add_extent(struct walk *w, const struct extent *e) {
        const struct jemalloc_layout *l = w->layout;
        unsigned class = (unsigned)bits_of(e->bits, l->class_bit, 8);
        uint64_t state;

        add_base(w, e->at & -(uint64_t)BASE_BYTES);
        state = bits_of(e->bits, l->state_bit, l->n_state_bits);
        if (state == STATE_DIRTY || state == STATE_MUZZY)
                add_free(w, e, e->addr & -w->tables.page_bytes, e->size_bytes,
                         state == STATE_DIRTY ? HEAP_FREE_DIRTY : HEAP_FREE_MUZZY);
        if (state != STATE_ACTIVE)
                return true; /* kept for later */
        w->held_bytes += e->size_bytes;
        vec_push(&w->extents,
                 (struct memory_span){e->addr & -w->tables.page_bytes,
                                      (e->addr & -w->tables.page_bytes) + e->size_bytes});
        if (bits_of(e->bits, l->slab_bit, 1))
                return class < w->tables.n_small && add_slab(w, e, class);
        return class >= w->tables.n_small && class < w->tables.n_classes && add_large(w, e, class);
}

/* ---- the tree --------------------------------------------------------------------------------------------- */

/* Where a root, a node or a leaf is, and the words of it that are at hand. */
struct array {
        uint64_t at, n, stride; /* entries, and words of each */
        uint64_t words[AT_ONCE];
        uint64_t first_word, n_words; /* at hand */
};

static void geometry_set(struct walk *w, const struct geometry *g) {
        unsigned n = g->address_bits - w->page_bits, n_levels = g->n_levels, rest = n % n_levels;

        w->geometry = g;
        w->bits[ROOT] = n / n_levels;
        w->bits[NODE] = n_levels == 3 ? n / 3 + rest / 2 : 0;
        w->bits[LEAF] = n - w->bits[ROOT] - w->bits[NODE];
}

/* False: not all of it is there. */
static bool array_open(struct walk *w, struct array *a, uint64_t at, unsigned kind) {
        const struct memory_span *span = memory_span_at(&w->words, at);

        a->at = at;
        a->n = UINT64_C(1) << w->bits[kind];
        a->stride = kind == LEAF ? w->geometry->entry_words : 1;
        a->n_words = 0;
        return at % EXTENT_ALIGN_BYTES == 0 && span && a->n * a->stride * 8 <= span->end - at;
}

/* The pointer of the k-th entry. */
static bool array_entry(struct walk *w, struct array *a, uint64_t k, uint64_t *ret) {
        uint64_t word = k * a->stride;

        if (word - a->first_word >= a->n_words) {
                a->first_word = word / AT_ONCE * AT_ONCE;
                a->n_words = MIN((uint64_t)AT_ONCE, a->n * a->stride - a->first_word);
                if (w->n_bytes_left < sizeof(a->words) ||
                    !w->words.memory->read(w->words.memory->ctx, a->at + a->first_word * 8,
                                           a->words, (size_t)a->n_words * 8)) {
                        a->n_words = 0;
                        return false;
                }
                w->n_bytes_left -= sizeof(a->words);
        }
        *ret = a->words[word - a->first_word] & ((UINT64_C(1) << w->geometry->address_bits) - 1) &
               -(uint64_t)EXTENT_ALIGN_BYTES;
        return true;
}

/* The first entry that leads anywhere. */
static bool array_first(struct walk *w, uint64_t at, unsigned kind, uint64_t *ret_k,
                        uint64_t *ret_to) {
        struct array a;

        if (!array_open(w, &a, at, kind))
                return false;
        for (*ret_k = 0; *ret_k < a.n; ++*ret_k) {
                if (!array_entry(w, &a, *ret_k, ret_to))
                        return false;
                if (*ret_to)
                        return true;
        }
        return false;
}

/* The page of the k-th entry of a leaf that leads to this extent; 0: it is not one of its. */
static uint64_t page_of(const struct walk *w, const struct extent *e, uint64_t k) {
        uint64_t first = e->addr >> w->page_bits,
                 last = (e->addr + e->size_bytes - 1) >> w->page_bits;

        for (uint64_t upper = first >> w->bits[LEAF]; upper <= last >> w->bits[LEAF]; upper++) {
                uint64_t page = upper << w->bits[LEAF] | k;

                if (page >= first && page <= last)
                        return page;
        }
        return 0;
}

/* Every entry of a leaf leads to an extent that is where the entry is; the first one says which entry of the root leads there. */
static bool which_entry(struct walk *w, uint64_t at, uint64_t *ret) {
        bool has_nodes = w->bits[NODE] > 0;
        uint64_t k, in_node = 0, to, page;
        struct extent e;

        if ((has_nodes && !array_first(w, at, NODE, &in_node, &at)) ||
            !array_first(w, at, LEAF, &k, &to) || !memory_span_at(&w->words, to) ||
            !read_extent(w, to, &e))
                return false;
        page = page_of(w, &e, k);
        *ret = page >> (w->bits[LEAF] + w->bits[NODE]);
        return page && (!has_nodes || bits_of(page, w->bits[LEAF], w->bits[NODE]) == in_node);
}

/* The root is a part of the variables; its second half is empty, as it stands for addresses that no program has. */
static bool find_root(struct walk *w, size_t *ret) {
        size_t n_behind = 0;

        for (size_t i = w->n_words; i-- > 0;) {
                uint64_t to = w->data[i], entry;
                size_t n_entries = n_behind;

                n_behind += to != 0;
                n_behind -= w->n_words - i > ZEROS_BEHIND && w->data[i + ZEROS_BEHIND] != 0;
                if (!to || n_entries > MAX_ENTRIES_BEHIND || !which_entry(w, to, &entry))
                        continue;
                if (entry <= i && UINT64_C(1) << w->bits[ROOT] <= w->n_words - (i - entry)) {
                        *ret = (size_t)(i - entry);
                        return true;
                }
        }
        return false;
}

static bool walk_leaf(struct walk *w, uint64_t upper, uint64_t at) {
        struct array a;

        if (!array_open(w, &a, at, LEAF))
                return false;
        for (uint64_t k = 0; k < a.n; k++) {
                struct extent e;
                uint64_t to;

                if (!array_entry(w, &a, k, &to))
                        return false;
                if (!to || !read_extent(w, to, &e) ||
                    e.addr >> w->page_bits != (upper << w->bits[LEAF] | k))
                        continue; /* each is told once, where it begins */
                if (!add_extent(w, &e) || w->used_bytes > w->all_bytes)
                        return false;
        }
        return true;
}

static bool walk_node(struct walk *w, uint64_t upper, uint64_t at) {
        struct array a;
        uint64_t to;

        if (!w->bits[NODE])
                return walk_leaf(w, upper, at);
        if (!array_open(w, &a, at, NODE))
                return false;
        for (uint64_t k = 0; k < a.n; k++)
                if (!array_entry(w, &a, k, &to) ||
                    (to && !walk_leaf(w, upper << w->bits[NODE] | k, to)))
                        return false;
        return true;
}

static bool walk_tree(struct walk *w, size_t root) {
        for (uint64_t i = 0; i < UINT64_C(1) << w->bits[ROOT]; i++)
                if (w->data[root + i] && !walk_node(w, i, w->data[root + i]))
                        return false;
        return true;
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

/* The root is found by extents: by where they are, and how large. */
static bool has_same_extents(const struct jemalloc_layout *a, const struct jemalloc_layout *b) {
        return a->extent_addr_off == b->extent_addr_off && a->extent_size_off == b->extent_size_off;
}

static bool adds_up(struct walk *w, size_t root, const struct jemalloc_found *sums) {
        w->used_bytes = w->held_bytes = 0;
        vec_clear(&w->list.blocks);
        vec_clear(&w->list.own);
        vec_clear(&w->list.frees);
        vec_clear(&w->extents);
        return walk_tree(w, root) && (w->lacks_figures ? w->held_bytes == sums->held_bytes
                                                       : w->used_bytes == sums->used_bytes);
}

static bool list_all(struct walk *w, const struct geometry *g, const struct jemalloc_found *sums) {
        const struct jemalloc_layout *l = layouts_known()->jemalloc;
        bool has_root = false;
        size_t root;

        geometry_set(w, g);
        for (size_t i = 0; i < layouts_known()->n_jemalloc; i++) {
                w->layout = &l[i];
                if (!i || !has_same_extents(&l[i], &l[i - 1])) {
                        w->n_bytes_left = MAX_READ_BYTES;
                        has_root = find_root(w, &root);
                }
                if (!has_root)
                        continue;
                /* a leaf is read once, and its entry stands for memory that there is */
                w->n_bytes_left = UINT64_MAX;
                w->pad_bytes = w->tables.page_bytes;
                if (adds_up(w, root, sums))
                        return true;
                w->pad_bytes = 0;
                if (l[i].has_large_sums && adds_up(w, root, sums))
                        return true;
        }
        return false;
}

static void take_all(const struct walk *w, struct heap_list *ret) {
        for (size_t i = 0; i < w->list.blocks.n; i++)
                vec_push(&ret->blocks, w->list.blocks.items[i]);
        for (size_t i = 0; i < w->list.own.n; i++)
                vec_push(&ret->own, w->list.own.items[i]);
        for (size_t i = 0; i < w->list.frees.n; i++)
                vec_push(&ret->frees, w->list.frees.items[i]);
}

bool jemalloc_list(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct heap_list *ret) {
        struct walk *w = calloc(1, sizeof(*w));
        struct jemalloc_found found;
        bool is_told = false;

        if (!w)
                abort();
        if (jemalloc_find(m, data, n_words, &found) &&
            jemalloc_tables_find(data, n_words, &w->tables)) {
                w->words = (struct memory_words){.memory = m, .round = 1};
                w->lacks_figures = found.lacks_figures;
                w->data = data;
                w->n_words = n_words;
                w->page_bits = (unsigned)__builtin_ctzll(w->tables.page_bytes);
                w->all_bytes = memory_all_bytes(m);
                for (size_t i = 0; i < ARRAY_SIZE(geometries) && !is_told; i++)
                        is_told = list_all(w, &geometries[i], &found);
                memory_words_free(&w->words);
        }
        if (is_told) {
                jemalloc_caches_drop(m, w->extents.items, w->extents.n, &w->list);
                take_all(w, ret);
        }
        heap_list_done(&w->list);
        vec_free(&w->extents);
        free(w);
        return is_told;
}
