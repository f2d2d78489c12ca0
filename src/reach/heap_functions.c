/* SPDX-License-Identifier: MIT */
#include "reach/heap_functions.h"

#include <stdlib.h>

#include "base/map.h"

static int by_address(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

uint64_t heap_head_function(const struct heap_head *head) {
        return head->words[0] ? head->words[0] : head->words[1];
}

void heap_functions_find(const struct heap_graph *h, heap_function_list *ret) {
        struct map known = {0};
        bool is_new;

        for (uint32_t i = 0; i < h->n_types && ret->n < HEAP_MAX_FUNCTIONS; i++) {
                if (!h->types[i].function)
                        continue;
                map_put(&known, h->types[i].function, 0, &is_new);
                if (is_new)
                        vec_push(ret, h->types[i].function);
        }
        for (uint32_t i = 0; i < h->n_heads && ret->n < HEAP_MAX_FUNCTIONS; i++) {
                const struct heap_head *head = &h->heads[i];
                uint64_t function = heap_head_function(head);

                if (h->type_of && h->type_of[head->block])
                        continue;
                map_put(&known, function, 0, &is_new);
                if (is_new && function)
                        vec_push(ret, function);
        }
        map_done(&known);
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(ret->items[0]), by_address);
}
