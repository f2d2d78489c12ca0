/* SPDX-License-Identifier: MIT */
#include "attach/mimalloc_map.h"

#include <stdlib.h>
#include <string.h>

#include "attach/layouts.h"
#include "base/macros.h"
#include "base/map.h"

enum {
        MAX_BLOCKS = 1 << 16,
        MAX_PAGES = 1 << 22,
        AT_ONCE = 512,
        JOIN_BYTES = 4096, /* what is known of pages lies side by side, or nearly */
};

struct page {
        uint64_t at, first, block_bytes;
        uint32_t n_used, n_ever, n_room;
        uint64_t free[LAYOUT_N_FREE];
};

struct walk {
        struct memory_words words;
        const struct mimalloc_map_layout *layout;
        struct heap_list *list;
        struct map pages; /* that were seen */
        uint64_t all_bytes, used_bytes;
        uint8_t is_free[MAX_BLOCKS];
};

static uint64_t number_at(const uint8_t *bytes, uint32_t off, size_t n_bytes) {
        uint64_t value = 0;

        memcpy(&value, bytes + off, n_bytes);
        return value;
}

/* The lowest bit of the list of others' says whether somebody has the page. */
static bool read_page(struct walk *w, uint64_t at, struct page *ret) {
        const struct mimalloc_map_layout *l = w->layout;
        uint64_t words[LAYOUT_MAX_PAGE_BYTES / 8];
        const uint8_t *bytes = (const uint8_t *)words;
        const struct memory_span *span;

        for (uint32_t i = 0; i < l->page_bytes / 8; i++)
                if (at % 8 || !memory_word(&w->words, at + i * 8, &words[i]))
                        return false;
        *ret = (struct page){.at = at,
                             .first = number_at(bytes, l->first_off, 8),
                             .block_bytes = number_at(bytes, l->size_off, 8),
                             .n_used = (uint32_t)number_at(bytes, l->used_off, 2),
                             .n_ever = (uint32_t)number_at(bytes, l->n_ever_off, 2),
                             .n_room = (uint32_t)number_at(bytes, l->n_room_off, 2)};
        for (size_t i = 0; i < LAYOUT_N_FREE; i++)
                ret->free[i] = number_at(bytes, l->free_offs[i], 8);
        ret->free[LAYOUT_N_FREE - 1] &= ~(uint64_t)3;
        span = memory_span_at(&w->words, ret->first);
        return span && ret->block_bytes >= 8 && ret->block_bytes % 8 == 0 && ret->n_room &&
               ret->n_used <= ret->n_ever && ret->n_ever <= ret->n_room &&
               ret->block_bytes <= (span->end - ret->first) / MAX(ret->n_ever, 1u);
}

/* ---- blocks ------------------------------------------------------------------------------------------------ */

/* Every block is on one list at most, so a list that leads back is none. */
static bool mark_list(struct walk *w, const struct page *p, uint64_t at, uint32_t *ret_n) {
        for (*ret_n = 0; at; ++*ret_n) {
                uint64_t k = (at - p->first) / p->block_bytes;

                if (at < p->first || (at - p->first) % p->block_bytes || k >= p->n_ever ||
                    w->is_free[k] || at % 8)
                        return false;
                w->is_free[k] = 1;
                if (!memory_word(&w->words, at, &at))
                        return false;
        }
        return true;
}

static void add_own(struct walk *w, uint64_t at) {
        struct memory_span *last = w->list->own.n ? &w->list->own.items[w->list->own.n - 1] : NULL;
        uint64_t end = at + w->layout->page_bytes;

        if (last && at >= last->begin && at <= last->end + JOIN_BYTES)
                last->end = MAX(last->end, end);
        else
                vec_push(&w->list->own, (struct memory_span){at, end});
}

/* What other threads gave back is counted as in use until the owner takes it. */
static bool add_page(struct walk *w, const struct page *p) {
        uint32_t n[LAYOUT_N_FREE];

        add_own(w, p->at);
        memset(w->is_free, 0, p->n_ever);
        for (size_t k = 0; k < LAYOUT_N_FREE; k++)
                if (!mark_list(w, p, p->free[k], &n[k]))
                        return false;
        if (n[0] + n[1] + p->n_used != p->n_ever || n[LAYOUT_N_FREE - 1] > p->n_used)
                return false;
        for (uint32_t i = 0; i < p->n_ever; i++) {
                uint64_t at = p->first + i * p->block_bytes;

                if (w->is_free[i]) {
                        heap_frees_add(&w->list->frees, (struct heap_free){at, p->block_bytes,
                                                                           HEAP_FREE_BLOCK, 0, 1});
                        continue;
                }
                vec_push(&w->list->blocks, (struct heap_block){at, p->block_bytes});
                w->used_bytes += p->block_bytes;
        }
        return w->used_bytes <= w->all_bytes;
}

/* ---- the map ----------------------------------------------------------------------------------------------- */

/* Some words of an array. What is not there was never needed, and is zero. */
static void read_some(struct walk *w, uint64_t at, uint64_t words[AT_ONCE]) {
        if (!memory_span_at(&w->words, at) ||
            !w->words.memory->read(w->words.memory->ctx, at, words, AT_ONCE * sizeof(words[0])))
                memset(words, 0, AT_ONCE * sizeof(words[0]));
}

/* The page of a slice, if it was not seen yet, is where the map says that it is. */
static bool walk_slice(struct walk *w, uint64_t slice, uint64_t to) {
        struct page p;
        bool is_new;

        map_put(&w->pages, to, 0, &is_new);
        return !is_new || (w->pages.n <= MAX_PAGES && read_page(w, to, &p) &&
                           p.first >> w->layout->slice_bits == slice && add_page(w, &p));
}

static bool walk_part(struct walk *w, uint64_t upper, uint64_t at) {
        uint64_t words[AT_ONCE], n = UINT64_C(1) << w->layout->map_bits, last = 0;

        for (uint64_t begin = 0; begin < n; begin += AT_ONCE) {
                read_some(w, at + begin * 8, words);
                for (uint64_t k = 0; k < AT_ONCE; k++) {
                        if (!words[k] || words[k] == last)
                                continue;
                        last = words[k];
                        if (!walk_slice(w, upper * n + begin + k, last))
                                return false;
                }
        }
        return true;
}

/* As far as there is memory: what lies behind is not asked for, and may be no part of the map. */
static bool walk_map(struct walk *w, uint64_t at) {
        const struct memory *m = w->words.memory;
        uint64_t n =
                (m->spans[m->n_spans - 1].end >> (w->layout->slice_bits + w->layout->map_bits)) + 1;
        uint64_t words[AT_ONCE];

        for (uint64_t begin = 0; begin < n; begin += AT_ONCE) {
                read_some(w, at + begin * 8, words);
                for (uint64_t k = begin ? 0 : 1; k < MIN((uint64_t)AT_ONCE, n - begin); k++)
                        if (words[k] && (!memory_span_at(&w->words, words[k]) ||
                                         !walk_part(w, begin + k, words[k])))
                                return false;
        }
        return true;
}

/* Through the map one comes from the page's first block back to the page. */
static bool is_map(struct walk *w, uint64_t at, const struct page *p) {
        uint64_t slice = p->first >> w->layout->slice_bits, upper = slice >> w->layout->map_bits,
                 part, to;

        return at % 4096 == 0 && memory_word(&w->words, at + upper * 8, &part) && part % 8 == 0 &&
               memory_word(&w->words,
                           part + (slice & ((UINT64_C(1) << w->layout->map_bits) - 1)) * 8, &to) &&
               to == p->at;
}

static bool list_by(struct walk *w, const uint64_t *data, size_t n_words, uint64_t page) {
        size_t n_blocks = w->list->blocks.n, n_own = w->list->own.n, n_frees = w->list->frees.n;
        struct page p;

        if (!read_page(w, page, &p))
                return false;
        for (size_t i = 0; i < n_words; i++) {
                if (!data[i] || !is_map(w, data[i], &p))
                        continue;
                w->used_bytes = 0;
                map_done(&w->pages);
                w->pages = (struct map){0};
                if (walk_map(w, data[i]))
                        return true;
                w->list->blocks.n = n_blocks;
                w->list->own.n = n_own;
                w->list->frees.n = n_frees;
        }
        return false;
}

bool mimalloc_map_list(const struct memory *m, const uint64_t *data, size_t n_words, uint64_t page,
                       struct heap_list *ret) {
        const struct layouts *known = layouts_known();
        struct walk *w = calloc(1, sizeof(*w));
        bool is_told = false;

        if (!w)
                abort();
        w->words = (struct memory_words){.memory = m, .round = 1};
        w->all_bytes = memory_all_bytes(m);
        w->list = ret;
        for (size_t i = 0; i < known->n_mimalloc_map && !is_told; i++) {
                w->layout = &known->mimalloc_map[i];
                is_told = list_by(w, data, n_words, page);
        }
        map_done(&w->pages);
        memory_words_free(&w->words);
        free(w);
        return is_told;
}
