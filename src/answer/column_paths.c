/* SPDX-License-Identifier: MIT */
#include "answer/column_paths.h"

#include "base/map.h"
#include "base/vec.h"
#include "show/text_pool.h"

/* All texts are numbers of the pool. */
struct column_frame {
        uint32_t label, function, file, module, crate, component;
        uint32_t line;
        bool is_inlined, is_task, is_guess, passes_on;
};

struct paths {
        const struct frame_names *names;
        struct text_pool texts;
        VEC(struct column_frame) frames;
        struct map by_hash; /* of what makes a frame → its number */
};

static uint64_t hash_of(const struct column_frame *f) {
        uint64_t h = map_hash((uint64_t)f->label << 32 | f->function);

        h = map_hash(h ^ ((uint64_t)f->file << 32 | f->module));
        return map_hash(h ^ ((uint64_t)f->line << 3 | (uint64_t)f->is_guess << 2 |
                             (uint64_t)f->is_inlined << 1 | f->is_task));
}

static uint32_t frame_number(struct paths *p, const struct name_frame *f, bool is_task) {
        struct names *names = p->names->names;
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

static void put_path(struct json *j, struct paths *p, struct frame_stack *s, uint32_t stack) {
        size_t next = 0; /* of those shown */

        frame_stack_fill(s, p->names, stack, false);
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

static void put_frames(struct json *j, const struct paths *p) {
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

void column_paths_put(struct json *j, const struct frame_names *n, const uint32_t *stacks,
                      size_t n_stacks) {
        struct paths p = {.names = n};
        struct frame_stack s = {0};

        text_pool_init(&p.texts);
        json_key(j, "path_frames");
        json_array(j);
        for (size_t i = 0; i < n_stacks; i++)
                put_path(j, &p, &s, stacks[i]);
        json_end(j);
        put_frames(j, &p);
        frame_stack_done(&s);
        map_done(&p.by_hash);
        vec_free(&p.frames);
        text_pool_done(&p.texts);
}
