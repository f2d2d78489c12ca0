/* SPDX-License-Identifier: MIT */
#include "attach/memory.h"

#include <stdlib.h>

struct memory_page {
        uint64_t at;
        uint32_t round; /* 0: none */
        uint64_t words[MEMORY_PAGE_BYTES / 8];
};

uint64_t memory_all_bytes(const struct memory *m) {
        uint64_t sum = 0;

        for (size_t i = 0; i < m->n_spans; i++)
                sum += m->spans[i].end - m->spans[i].begin;
        return sum;
}

void memory_words_free(struct memory_words *w) {
        for (size_t i = 0; i < MEMORY_PAGES; i++) {
                free(w->pages[i]);
                w->pages[i] = NULL;
        }
}

const struct memory_span *memory_span_at(struct memory_words *w, uint64_t addr) {
        const struct memory_span *spans = w->memory->spans;
        size_t low = 0, high = w->memory->n_spans;

        if (w->last_span < high && addr >= spans[w->last_span].begin &&
            addr < spans[w->last_span].end)
                return &spans[w->last_span];
        while (low < high) {
                size_t middle = (low + high) / 2;

                if (addr >= spans[middle].end)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == w->memory->n_spans || addr < spans[low].begin)
                return NULL;
        w->last_span = low;
        return &spans[low];
}

static struct memory_page *page_for(struct memory_words *w, uint64_t at) {
        struct memory_page **p = &w->pages[at / MEMORY_PAGE_BYTES % MEMORY_PAGES];

        if (!*p && !(*p = calloc(1, sizeof(**p))))
                abort();
        return *p;
}

bool memory_word(struct memory_words *w, uint64_t addr, uint64_t *ret) {
        uint64_t at = addr & -(uint64_t)MEMORY_PAGE_BYTES;
        struct memory_page *p;

        if (!memory_span_at(w, addr))
                return false;
        p = page_for(w, at);
        if (p->at != at || p->round != w->round) {
                p->round = 0;
                if (!w->memory->read(w->memory->ctx, at, p->words, sizeof(p->words)))
                        return false;
                p->at = at;
                p->round = w->round;
        }
        *ret = p->words[(addr - at) / 8];
        return true;
}
