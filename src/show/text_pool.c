/* SPDX-License-Identifier: MIT */
#include "show/text_pool.h"

#include <string.h>

void text_pool_init(struct text_pool *t) {
        *t = (struct text_pool){.arena = arena_new()};
        text_pool_add(t, "");
}

void text_pool_done(struct text_pool *t) {
        vec_free(&t->items);
        map_done(&t->by_hash);
        arena_free(t->arena);
        *t = (struct text_pool){0};
}

static uint64_t hash_of(const char *text) {
        uint64_t h = 0xcbf29ce484222325u;

        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 0x100000001b3u;
        return h;
}

uint32_t text_pool_add(struct text_pool *t, const char *text) {
        for (uint64_t h = hash_of(text);; h++) {
                bool added;
                uint64_t *number = map_put(&t->by_hash, h, t->items.n, &added);

                if (added)
                        vec_push(&t->items, arena_strdup(t->arena, text));
                if (added || strcmp(t->items.items[*number], text) == 0)
                        return (uint32_t)*number;
        }
}
