/* SPDX-License-Identifier: MIT */
#include "diff/side_paths.h"

#include <string.h>

#include "base/map.h"
#include "query/spent_time.h"
#include "show/frame.h"

static uint64_t hash_build(const struct trace_module *m) {
        uint64_t hash = m->build_id_len;

        for (uint32_t i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
                hash = map_hash(hash * 31 + m->build_id[i]);
        return hash;
}

void side_paths_init(struct side_paths *p, struct diff_side *s, struct name_match *m,
                     enum name_side which, bool is_one_trace) {
        *p = (struct side_paths){.side = s, .match = m, .which = which, .names = s->frames.names};
        p->first_of = calloc(s->v->n_locations + 1, sizeof(p->first_of[0]));
        if (!p->first_of)
                abort();
        for (size_t i = 0; i < s->v->n_modules; i++)
                vec_push(&p->builds, is_one_trace ? i + 1 : hash_build(&s->v->modules[i]));
        p->no_build = is_one_trace;
}

void side_paths_done(struct side_paths *p) {
        free(p->first_of);
        vec_free(&p->frames);
        vec_free(&p->builds);
        vec_free(&p->looks);
        vec_free(&p->numbers);
        vec_free(&p->all);
        name_stack_done(&p->folded);
        *p = (struct side_paths){0};
}

/* ---- places in the code ---------------------------------------------------------------------- */

static struct side_frame read_frame(struct side_paths *p, const struct query_frame *f) {
        const char *exe = side_process(p->side)->start.exe;
        uint32_t module = p->side->v->locations[f->location].module;
        struct name_built b = {.frame = frame_of(f),
                               .build =
                                       module < p->builds.n ? p->builds.items[module] : p->no_build,
                               .is_program = exe[0] && strcmp(exe, f->module) == 0};

        return (struct side_frame){.look = name_look(p->names, &b.frame),
                                   .number = name_match_add(p->match, p->which, &b),
                                   .line = f->line};
}

static void learn_location(struct side_paths *p, uint32_t location) {
        struct query_frame few[16], *frames = few;
        size_t n = query_location_frames(p->side->q, location, few, ARRAY_SIZE(few));

        if (n > ARRAY_SIZE(few)) {
                frames = calloc(n, sizeof(frames[0]));
                if (!frames)
                        abort();
                query_location_frames(p->side->q, location, frames, n);
        }
        p->first_of[location] = (uint32_t)p->frames.n + 1;
        for (size_t i = 0; i < n; i++)
                vec_push(&p->frames, read_frame(p, &frames[i]));
        vec_add(&p->frames);
        if (frames != few)
                free(frames);
}

void side_paths_learn(struct side_paths *p, uint32_t stack) {
        const struct trace_view *v = p->side->v;

        for (size_t n = 0; stack && stack < v->n_stacks && n < SIDE_PATHS_MAX_FRAMES; n++) {
                uint32_t location = v->stacks[stack].location;

                if (location < v->n_locations && !p->first_of[location])
                        learn_location(p, location);
                stack = v->stacks[stack].parent;
        }
}

/* ---- paths ----------------------------------------------------------------------------------- */

void side_paths_load(struct side_paths *p, uint32_t stack) {
        const struct trace_view *v = p->side->v;

        vec_clear(&p->looks);
        vec_clear(&p->all);
        vec_clear(&p->numbers);
        p->line = 0;
        while (stack && stack < v->n_stacks && p->all.n < SIDE_PATHS_MAX_FRAMES) {
                uint32_t location = v->stacks[stack].location;
                uint32_t i = location < v->n_locations ? p->first_of[location] : 0;

                for (; i && p->frames.items[i - 1].look.entry; i++) {
                        vec_push(&p->all, p->frames.items[i - 1]);
                        vec_push(&p->looks, p->frames.items[i - 1].look);
                }
                stack = v->stacks[stack].parent;
        }
        if (p->all.n == 0)
                return;
        if (p->side->frames.is_of_time || query_is_of_weights(p->side->q)) {
                for (size_t i = 0; i < p->all.n; i++)
                        vec_push(&p->numbers, p->all.items[i].number);
                p->line = p->all.items[0].line;
                return;
        }
        name_fold_looks(p->names, p->looks.items, p->looks.n, &p->folded);
        for (size_t i = 0; i < p->folded.n; i++)
                vec_push(&p->numbers, p->all.items[p->folded.items[i].frame_idx].number);
        p->line = p->all.items[p->folded.items[0].frame_idx].line;
}
