/* SPDX-License-Identifier: MIT */
#include "export/text_table.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

void text_table_init(struct text_table *t) {
        *t = (struct text_table){.arena = arena_new()};
        text_table_number(t, "");
}

void text_table_done(struct text_table *t) {
        vec_free(&t->texts);
        vec_free(&t->next);
        map_done(&t->by_hash);
        arena_free(t->arena);
}

static bool is_clean(const char *text) {
        size_t n = 1;

        for (; *text && n; text += n)
                n = str_utf8_len(text);
        return n != 0;
}

static const char *cleaned(struct arena *arena, const char *text) {
        char *own = arena_strdup(arena, text);

        for (char *at = own; *at;) {
                size_t n = str_utf8_len(at);

                if (n == 0)
                        *at = '?';
                at += n ? n : 1;
        }
        return own;
}

static uint64_t hash_of(const char *text) {
        uint64_t hash = 0xcbf29ce484222325ull;

        for (; *text; text++)
                hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
        return map_hash(hash);
}

uint32_t text_table_number(struct text_table *t, const char *text) {
        uint64_t *first;
        bool is_new;

        text = text ? text : "";
        if (!is_clean(text))
                text = cleaned(t->arena, text);
        first = map_put(&t->by_hash, hash_of(text), t->texts.n + 1, &is_new);
        if (!is_new)
                for (uint32_t id = (uint32_t)*first; id; id = t->next.items[id - 1])
                        if (strcmp(t->texts.items[id - 1], text) == 0)
                                return id - 1;
        vec_push(&t->next, is_new ? 0 : (uint32_t)*first);
        *first = t->texts.n + 1;
        vec_push(&t->texts, arena_strdup(t->arena, text));
        return (uint32_t)t->texts.n - 1;
}
