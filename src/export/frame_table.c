/* SPDX-License-Identifier: MIT */
#include "export/frame_table.h"

#include <stdio.h>
#include <string.h>

#include "show/frame.h"

enum { FRAME_MAX_INLINED = 256 };

void frame_table_init(struct frame_table *t, const struct query *q) {
        *t = (struct frame_table){.q = q};
}

void frame_table_done(struct frame_table *t) {
        for (size_t i = 0; i < t->made.n; i++)
                free(t->made.items[i]);
        vec_free(&t->made);
        vec_free(&t->frames);
        vec_free(&t->next);
        vec_free(&t->chains);
        vec_free(&t->path);
        map_done(&t->ids);
        map_done(&t->locations);
}

static uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
        return map_hash(hash);
}

static bool is_same(const struct query_frame *a, const struct query_frame *b) {
        return a->line == b->line && strcmp(a->function, b->function) == 0 &&
               strcmp(a->file, b->file) == 0 && strcmp(a->module, b->module) == 0 &&
               (a->function[0] || a->offset == b->offset);
}

static const char *name_of(struct frame_table *t, const struct query_frame *f) {
        char *text;

        if (f->function[0])
                return f->function;
        if (asprintf(&text, "%s%s0x%llx", f->module[0] ? frame_base(f->module) : "",
                     f->module[0] ? "+" : "", (unsigned long long)f->offset) < 0)
                abort();
        vec_push(&t->made, text);
        return text;
}

uint32_t frame_table_add(struct frame_table *t, const struct query_frame *f) {
        uint64_t hash = f->function[0] ? f->line : f->offset, *first;
        bool is_new;

        hash = hash_text(hash_text(hash_text(hash, f->function), f->file), f->module);
        first = map_put(&t->ids, hash, t->frames.n + 1, &is_new);
        if (!is_new)
                for (uint32_t id = (uint32_t)*first; id; id = t->next.items[id - 1])
                        if (is_same(&t->frames.items[id - 1].frame, f))
                                return id - 1;
        vec_push(&t->next, is_new ? 0 : (uint32_t)*first);
        *first = t->frames.n + 1;
        vec_push(&t->frames, (struct frame_entry){name_of(t, f), *f});
        return (uint32_t)t->frames.n - 1;
}

const uint32_t *frame_table_location(struct frame_table *t, uint32_t location, size_t *ret_n) {
        struct query_frame frames[FRAME_MAX_INLINED];
        uint64_t known;
        size_t n, first;

        if (map_get(&t->locations, location, &known)) {
                *ret_n = known & 0xffff;
                return t->chains.items + (known >> 16);
        }
        n = MIN(query_known_frames(t->q, location, frames, FRAME_MAX_INLINED),
                (size_t)FRAME_MAX_INLINED);
        first = t->chains.n;
        for (size_t i = 0; i < n; i++)
                vec_push(&t->chains, frame_table_add(t, &frames[i]));
        map_put(&t->locations, location, (uint64_t)first << 16 | n, NULL);
        *ret_n = n;
        return t->chains.items + first;
}

const uint32_t *frame_table_path(struct frame_table *t, uint32_t stack, size_t *ret_n) {
        const struct trace_view *v = query_view(t->q);

        vec_clear(&t->path);
        while (stack && stack < v->n_stacks) {
                size_t n;
                const uint32_t *ids = frame_table_location(t, v->stacks[stack].location, &n);

                for (size_t i = 0; i < n; i++)
                        vec_push(&t->path, ids[i]);
                stack = v->stacks[stack].parent;
        }
        *ret_n = t->path.n;
        return t->path.items;
}
