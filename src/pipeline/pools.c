/* SPDX-License-Identifier: MIT */
#include "pipeline/pools.h"

#include <string.h>

#include "base/macros.h"

void pools_done(struct pools *p) {
        map_done(&p->places);
        vec_free(&p->pages);
}

static struct pools_page *pools_page(struct pools *p, uint64_t no) {
        bool added;
        uint64_t *place = map_put(&p->places, no, p->pages.n, &added);

        if (added)
                vec_push(&p->pages, (struct pools_page){.no = no});
        return &p->pages.items[*place];
}

void pools_copy(struct pools *to, const struct pools *from) {
        for (size_t i = 0; i < from->pages.n; i++)
                *pools_page(to, from->pages.items[i].no) = from->pages.items[i];
        to->n_swept = from->n_swept;
}

void pools_add(struct pools *p, uint64_t address) {
        uint64_t offset = address % POOLS_PAGE_BYTES;

        pools_page(p, address / POOLS_PAGE_BYTES)->bits[offset / 64] |= (uint64_t)1 << offset % 64;
}

/* The page's bits in [begin, end). */
static void pools_visit_page(struct pools_page *page, uint64_t begin, uint64_t end,
                             bool (*fn)(void *ctx, uint64_t address), void *ctx) {
        for (unsigned i = 0; i < ARRAY_SIZE(page->bits); i++)
                for (uint64_t left = page->bits[i]; left; left &= left - 1) {
                        unsigned bit = (unsigned)__builtin_ctzll(left);
                        uint64_t address = page->no * POOLS_PAGE_BYTES + i * 64 + bit;

                        if (address >= begin && address < end && !fn(ctx, address))
                                page->bits[i] &= ~((uint64_t)1 << bit);
                }
}

void pools_visit(struct pools *p, uint64_t begin, uint64_t end,
                 bool (*fn)(void *ctx, uint64_t address), void *ctx) {
        uint64_t first = begin / POOLS_PAGE_BYTES, last;

        if (begin >= end)
                return;
        last = (end - 1) / POOLS_PAGE_BYTES;
        if (last - first >= p->pages.n) {
                for (size_t i = 0; i < p->pages.n; i++)
                        if (p->pages.items[i].no >= first && p->pages.items[i].no <= last)
                                pools_visit_page(&p->pages.items[i], begin, end, fn, ctx);
                return;
        }
        for (uint64_t no = first; no <= last; no++) {
                uint64_t place;

                if (map_get(&p->places, no, &place))
                        pools_visit_page(&p->pages.items[place], begin, end, fn, ctx);
        }
}

static bool pools_page_is_empty(const struct pools_page *page) {
        uint64_t all = 0;

        for (unsigned i = 0; i < ARRAY_SIZE(page->bits); i++)
                all |= page->bits[i];
        return all == 0;
}

void pools_sweep(struct pools *p, bool (*is_live)(void *ctx, uint64_t address), void *ctx) {
        struct pools left = {0};

        pools_visit(p, 0, UINT64_MAX, is_live, ctx);
        for (size_t i = 0; i < p->pages.n; i++)
                if (!pools_page_is_empty(&p->pages.items[i]))
                        *pools_page(&left, p->pages.items[i].no) = p->pages.items[i];
        left.n_swept = left.pages.n;
        pools_done(p);
        *p = left;
}
