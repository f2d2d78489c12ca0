/* SPDX-License-Identifier: MIT */
#include "answer/column_paths.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "show/text_pool.h"

/* All texts are numbers of the pool. */
struct column_frame {
        uint32_t label, function, file, module, crate, component;
        uint32_t line;
        bool is_inlined, is_task, is_guess, passes_on;
};

struct column_paths {
        struct frame_names names, time_names;
        struct text_pool texts;
        VEC(struct column_frame) frames;
        struct map by_hash;     /* of what makes a frame → its number */
        struct map first, path; /* of a stack, the first alike; of its frames' numbers, the same */
        struct frame_stack stack; /* at hand */
};

struct column_paths *column_paths_new(const struct frame_names *n) {
        struct column_paths *p = calloc(1, sizeof(*p));

        if (!p)
                abort();
        p->names = p->time_names = *n;
        p->names.is_of_time = false, p->time_names.is_of_time = true;
        text_pool_init(&p->texts);
        return p;
}

struct column_paths *column_paths_free(struct column_paths *p) {
        if (!p)
                return NULL;
        frame_stack_done(&p->stack);
        map_done(&p->by_hash);
        map_done(&p->first);
        map_done(&p->path);
        vec_free(&p->frames);
        text_pool_done(&p->texts);
        free(p);
        return NULL;
}

static uint64_t hash_of(const struct column_frame *f) {
        uint64_t h = map_hash((uint64_t)f->label << 32 | f->function);

        h = map_hash(h ^ ((uint64_t)f->file << 32 | f->module));
        return map_hash(h ^ ((uint64_t)f->line << 3 | (uint64_t)f->is_guess << 2 |
                             (uint64_t)f->is_inlined << 1 | f->is_task));
}

static uint32_t frame_number(struct column_paths *p, const struct name_frame *f, bool is_task) {
        struct names *names = p->names.names;
        struct name_component component = name_component(names, f);
        struct column_frame x = {
                .label = text_pool_add(&p->texts, name_label(names, f, is_task)),
                .function = text_pool_add(&p->texts, name_full(names, f->function)),
                .file = text_pool_add(&p->texts, f->file),
                .module = text_pool_add(&p->texts, f->module),
                .crate = text_pool_add(&p->texts, name_crate(names, f->function, f->module)),
                .component = text_pool_add(&p->texts, component.name),
                .line = f->line,
                .is_inlined = f->inlined,
                .is_task = is_task,
                .is_guess = f->guess,
                .passes_on = component.passes_on,
        };
        bool added;
        uint64_t *number = map_put(&p->by_hash, hash_of(&x), p->frames.n, &added);

        if (added)
                vec_push(&p->frames, x);
        return (uint32_t)*number;
}

uint32_t column_paths_alike(struct column_paths *p, uint32_t stack) {
        bool added;
        uint64_t *first = map_put(&p->first, stack, stack, &added);
        uint64_t hash;

        if (!added)
                return (uint32_t)*first;
        frame_stack_fill(&p->stack, &p->time_names, stack, false);
        hash = map_hash(p->stack.frames.n);
        for (size_t i = 0; i < p->stack.frames.n; i++)
                hash = map_hash(hash ^ frame_number(p, &p->stack.frames.items[i], false));
        *first = *map_put(&p->path, hash, stack, NULL);
        return (uint32_t)*first;
}

static void put_path(struct json *j, struct column_paths *p, uint32_t stack, bool is_of_time) {
        struct frame_stack *s = &p->stack;
        size_t next = 0; /* of those shown */

        frame_stack_fill(s, is_of_time ? &p->time_names : &p->names, stack, false);
        json_array(j);
        for (size_t i = 0; i < s->frames.n; i++) {
                bool is_shown = next < s->shown.n && s->shown.items[next].frame_idx == i;
                int64_t number = frame_number(p, &s->frames.items[i],
                                              is_shown && s->shown.items[next].is_task);

                json_int(j, is_shown ? number : -1 - number);
                next += is_shown;
        }
        json_end(j);
}

void column_paths_put(struct json *j, struct column_paths *p, const uint32_t *stacks,
                      size_t n_stacks, bool is_of_time) {
        json_key(j, "path_frames");
        json_array(j);
        for (size_t i = 0; i < n_stacks; i++)
                put_path(j, p, stacks[i], is_of_time);
        json_end(j);
}

void column_paths_put_frames(struct json *j, const struct column_paths *p) {
        json_key(j, "frames");
        json_object(j);
        JSON_PUT_EACH(j, "label", p->frames.n, json_uint, p->frames.items[i].label);
        JSON_PUT_EACH(j, "function", p->frames.n, json_uint, p->frames.items[i].function);
        JSON_PUT_EACH(j, "file", p->frames.n, json_uint, p->frames.items[i].file);
        JSON_PUT_EACH(j, "line", p->frames.n, json_uint, p->frames.items[i].line);
        JSON_PUT_EACH(j, "module", p->frames.n, json_uint, p->frames.items[i].module);
        JSON_PUT_EACH(j, "crate", p->frames.n, json_uint, p->frames.items[i].crate);
        JSON_PUT_EACH(j, "component", p->frames.n, json_uint, p->frames.items[i].component);
        JSON_PUT_EACH(j, "passes_on", p->frames.n, json_bool, p->frames.items[i].passes_on);
        JSON_PUT_EACH(j, "inlined", p->frames.n, json_bool, p->frames.items[i].is_inlined);
        JSON_PUT_EACH(j, "guess", p->frames.n, json_bool, p->frames.items[i].is_guess);
        JSON_PUT_EACH(j, "async", p->frames.n, json_bool, p->frames.items[i].is_task);
        json_end(j);
        json_key(j, "names");
        json_array(j);
        for (size_t i = 0; i < p->texts.items.n; i++)
                json_string(j, p->texts.items.items[i]);
        json_end(j);
}
