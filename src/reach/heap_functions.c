/* SPDX-License-Identifier: MIT */
#include "reach/heap_functions.h"

#include <stdlib.h>

#include "base/map.h"
#include "reach/source_head.h"

static int by_address(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

uint64_t heap_head_function(const struct heap_head *head) {
        return head->words[0] ? head->words[0] : head->words[1];
}

struct finding_functions {
        struct map known;
        heap_function_list *ret;
};

static void add(struct finding_functions *f, uint64_t address) {
        bool is_new;

        if (!address || f->ret->n >= HEAP_MAX_FUNCTIONS)
                return;
        map_put(&f->known, address, 0, &is_new);
        if (is_new)
                vec_push(f->ret, address);
}

/* The tables of sources, which are variables, and the functions that they call. */
static void add_sources(struct finding_functions *f, const struct heap_graph *h) {
        struct map callbacks = {0}; /* addresses of the blocks that they are kept in */
        uint64_t unused;
        bool is_new;

        for (uint32_t i = 0; i < h->n_heads; i++) {
                const uint64_t *words = h->heads[i].words;

                if (!source_head_is_like(words) ||
                    h->blocks[h->heads[i].block].size_bytes < SOURCE_BYTES)
                        continue;
                add(f, words[SOURCE_TABLE]);
                add(f, words[SOURCE_GETTERS]);
                if (words[SOURCE_DATA])
                        map_put(&callbacks, words[SOURCE_DATA], 0, &is_new);
        }
        for (uint32_t i = 0; callbacks.n && i < h->n_heads; i++)
                if (map_get(&callbacks, h->blocks[h->heads[i].block].address, &unused))
                        add(f, h->heads[i].words[SOURCE_CALLBACK]);
        map_done(&callbacks);
}

void heap_functions_find(const struct heap_graph *h, heap_function_list *ret) {
        struct finding_functions f = {.ret = ret};

        for (uint32_t i = 0; i < h->n_types; i++)
                add(&f, h->types[i].function);
        for (uint32_t i = 0; i < h->n_heads; i++)
                if (!h->type_of || !h->type_of[h->heads[i].block])
                        add(&f, heap_head_function(&h->heads[i]));
        add_sources(&f, h);
        map_done(&f.known);
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(ret->items[0]), by_address);
}
