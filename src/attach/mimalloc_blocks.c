/* SPDX-License-Identifier: MIT */
#include "attach/mimalloc_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "attach/mimalloc.h"
#include "base/macros.h"

enum { MAX_BLOCKS = 1 << 16, FIXED_BYTES = 384 };

/* Where the first block of a page is, in versions that do not keep it. */
enum rule { RULE_KEPT, RULE_FIXED, RULE_BY_SIZE };

struct walk {
        struct memory_words words;
        struct heap_list *list;
        VEC(struct mimalloc_page) pages;
        enum rule rule;
        uint8_t is_free[MAX_BLOCKS];
};

/* Versions that make it a multiple of the size keep it. */
static uint64_t by_size_off(const struct mimalloc_page *p) {
        uint64_t bytes = p->block_bytes;

        return bytes < 8 ? 0 : bytes <= 64 ? 3 * bytes : bytes <= 512 ? bytes : 0;
}

static uint64_t first_of(const struct mimalloc_page *p, enum rule rule) {
        switch (rule) {
        case RULE_KEPT: return p->first;
        case RULE_FIXED:
                return p->begin + (p->block_bytes >= 8 && p->block_bytes <= 1024 ? FIXED_BYTES : 0);
        case RULE_BY_SIZE: return p->begin + by_size_off(p);
        }
        return p->begin;
}

static bool is_block(const struct mimalloc_page *p, enum rule rule, uint64_t at) {
        uint64_t first = first_of(p, rule);

        return at >= first && at < p->begin + p->n_bytes && (at - first) % p->block_bytes == 0 &&
               (at - first) / p->block_bytes < p->n_ever;
}

/* What is before the first block has no room: full pages, too, tell two rules apart. */
static bool is_room(const struct mimalloc_page *p, enum rule rule) {
        return p->n_room == (p->begin + p->n_bytes - first_of(p, rule)) / p->block_bytes;
}

static bool is_of_rule(const struct mimalloc_page *p, enum rule rule) {
        for (size_t k = 0; k < ARRAY_SIZE(p->free); k++)
                if (p->free[k] && !is_block(p, rule, p->free[k]))
                        return false;
        return first_of(p, RULE_FIXED) == first_of(p, RULE_BY_SIZE) || is_room(p, rule);
}

/* Free blocks say by which rule the others are where they are, and how many have room. One free block may be where both rules have one. False: they do not
 * say it, and it matters. */
static bool find_rule(struct walk *w) {
        bool is_possible[] = {false, true, true}, differ = false;

        for (size_t i = 0; i < w->pages.n; i++) {
                const struct mimalloc_page *p = &w->pages.items[i];

                is_possible[RULE_KEPT] |= p->first != 0;
                differ |= p->n_used && first_of(p, RULE_FIXED) != first_of(p, RULE_BY_SIZE);
                for (unsigned rule = RULE_FIXED; rule <= RULE_BY_SIZE; rule++)
                        is_possible[rule] &= is_of_rule(p, (enum rule)rule);
        }
        w->rule = is_possible[RULE_KEPT]    ? RULE_KEPT
                  : is_possible[RULE_FIXED] ? RULE_FIXED
                                            : RULE_BY_SIZE;
        return is_possible[w->rule] &&
               (w->rule != RULE_FIXED || !is_possible[RULE_BY_SIZE] || !differ);
}

/* Every block is on one list at most, so a list that leads back is none. */
static bool mark_list(struct walk *w, const struct mimalloc_page *p, uint64_t at, uint32_t *ret_n) {
        for (*ret_n = 0; at; ++*ret_n) {
                uint64_t k = (at - first_of(p, w->rule)) / p->block_bytes;

                if (!is_block(p, w->rule, at) || k >= MAX_BLOCKS || w->is_free[k])
                        return false;
                w->is_free[k] = 1;
                if (at % 8 || !memory_word(&w->words, at, &at))
                        return false;
        }
        return true;
}

static void add_free_block(struct walk *w, uint64_t address, uint64_t size_bytes) {
        heap_frees_add(&w->list->frees,
                       (struct heap_free){address, size_bytes, HEAP_FREE_BLOCK, 0, 1});
}

/* What other threads gave back is counted as in use until the owner takes it. */
static bool add_page(struct walk *w, const struct mimalloc_page *p) {
        uint64_t first = first_of(p, w->rule);
        uint32_t n[ARRAY_SIZE(p->free)];

        if (!p->n_used) {
                heap_frees_add(&w->list->frees,
                               (struct heap_free){p->begin, p->n_bytes, HEAP_FREE_PAGE, 0, 1});
                return true;
        }
        if (first < p->begin || !p->block_bytes || p->n_ever > MAX_BLOCKS ||
            first - p->begin + p->n_ever * p->block_bytes > p->n_bytes)
                return false;
        memset(w->is_free, 0, p->n_ever);
        for (size_t k = 0; k < ARRAY_SIZE(p->free); k++)
                if (!mark_list(w, p, p->free[k], &n[k]))
                        return false;
        if (n[MIMALLOC_FREE] + n[MIMALLOC_FREED] + p->n_used != p->n_ever)
                return false;
        for (uint32_t i = 0; i < p->n_ever; i++)
                if (!w->is_free[i]) {
                        struct heap_block b = {first + i * p->block_bytes, p->block_bytes};

                        vec_push(&w->list->blocks, b);
                } else {
                        add_free_block(w, first + i * p->block_bytes, p->block_bytes);
                }
        return true;
}

/* ---- blocks that are released, but not yet in their page's lists -------------------------------------------------- */

static int by_address(const void *a, const void *b) {
        const struct heap_block *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

/* What a list has that is no block of these makes it none. */
static void drop_list(struct walk *w, uint64_t at, size_t n_before) {
        struct heap_block *blocks = w->list->blocks.items + n_before;
        size_t n = w->list->blocks.n - n_before;
        VEC(struct heap_block *) found = {0};

        while (at) {
                struct heap_block key = {at, 0}, *b;

                b = bsearch(&key, blocks, n, sizeof(key), by_address);
                if (!b || found.n >= n || at % 8 || !memory_word(&w->words, at, &at)) {
                        vec_clear(&found);
                        break;
                }
                vec_push(&found, b);
        }
        for (size_t i = 0; i < found.n; i++) {
                if (found.items[i]->size_bytes) /* once */
                        add_free_block(w, found.items[i]->address, found.items[i]->size_bytes);
                found.items[i]->size_bytes = 0;
        }
        vec_free(&found);
}

static void drop_delayed(struct walk *w, size_t n_before) {
        size_t n = n_before;
        uint64_t at, last = 0;

        if (w->list->blocks.n == n_before)
                return;
        qsort(w->list->blocks.items + n_before, w->list->blocks.n - n_before,
              sizeof(struct heap_block), by_address);
        for (size_t i = 0; i < w->pages.n; i++) {
                uint64_t where = w->pages.items[i].delayed;

                if (where == last || where % 8 || !memory_word(&w->words, where, &at))
                        continue;
                last = where;
                drop_list(w, at, n_before);
        }
        for (size_t i = n_before; i < w->list->blocks.n; i++)
                if (w->list->blocks.items[i].size_bytes)
                        w->list->blocks.items[n++] = w->list->blocks.items[i];
        w->list->blocks.n = n;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void on_page(void *ctx, const struct mimalloc_page *p) {
        struct walk *w = ctx;
        struct memory_span own = {p->begin, p->begin + p->n_bytes};

        if (p->is_info)
                vec_push(&w->list->own, own);
        else
                vec_push(&w->pages, *p);
}

bool mimalloc_list(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct heap_list *ret) {
        struct walk *w = calloc(1, sizeof(*w));
        size_t n_blocks = ret->blocks.n, n_own = ret->own.n, n_frees = ret->frees.n;
        bool is_told;

        if (!w)
                abort();
        w->words = (struct memory_words){.memory = m, .round = 1};
        w->list = ret;
        is_told = mimalloc_pages(m, data, n_words, on_page, w) && find_rule(w);
        for (size_t i = 0; is_told && i < w->pages.n; i++)
                is_told = add_page(w, &w->pages.items[i]);
        if (is_told)
                drop_delayed(w, n_blocks);
        if (!is_told) {
                ret->blocks.n = n_blocks;
                ret->own.n = n_own;
                ret->frees.n = n_frees;
        }
        vec_free(&w->pages);
        memory_words_free(&w->words);
        free(w);
        return is_told;
}
