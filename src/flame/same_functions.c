/* SPDX-License-Identifier: MIT */
#include "flame/same_functions.h"
#include "show/process_holders.h"

#include <stdlib.h>
#include <string.h>

#include "name/match.h"
#include "show/frame.h"

struct same {
        const struct graph_source *of;
        struct name_match *match;
        struct map numbers[GRAPH_N_SIDES];  /* hash of what a frame is → its number in match */
        const char *program[GRAPH_N_SIDES]; /* path of the program itself */
};

/* Frames of one function share their texts, so addresses tell functions apart without reading them. */
static uint64_t key_of(const struct query_frame *f) {
        uint64_t h = map_hash((uintptr_t)f->function);

        h = map_hash(h ^ (uintptr_t)f->file);
        h = map_hash(h ^ (uintptr_t)f->module);
        if (!f->function[0] || f->guess)
                h = map_hash(h ^ f->offset);
        return h;
}

/* Tells builds of a module apart; 0 unknown. */
static uint64_t build_of(const struct trace_view *v, const struct query_frame *f) {
        const struct trace_module *m;
        uint64_t h = 0;

        if (f->location >= v->n_locations || v->locations[f->location].module >= v->n_modules)
                return 0;
        m = &v->modules[v->locations[f->location].module];
        for (uint32_t i = 0; i < MIN(m->build_id_len, sizeof(m->build_id)); i++)
                h = map_hash(h << 8 | m->build_id[i]);
        return h;
}

static uint32_t number_of(struct same *s, enum graph_side side, const struct query_frame *f) {
        bool added;
        uint64_t *number = map_put(&s->numbers[side], key_of(f), 0, &added);

        if (added) {
                struct name_built b = {.frame = frame_of(f),
                                       .build = build_of(s->of[side].view->v, f),
                                       .is_program = strcmp(f->module, s->program[side]) == 0};

                *number = name_match_add(s->match, side == GRAPH_OLD ? NAME_OLD : NAME_NEW, &b);
        }
        return (uint32_t)*number;
}

static const char *program_of(const struct view *v) {
        uint32_t process =
                v->scope.process == QUERY_ALL ? holder_process(v->q, v->answer) : v->scope.process;

        return process < v->v->n_processes ? v->v->processes[process].start.exe : "";
}

struct same *same_new(const struct graph_source *of) {
        struct same *s = calloc(1, sizeof(*s));

        if (!s)
                abort();
        s->of = of;
        s->match = name_match_new(of[GRAPH_NEW].view->frames.names);
        for (int side = 0; side < GRAPH_N_SIDES; side++) {
                s->program[side] = program_of(of[side].view);
                for (size_t part = 0; part < of[side].n_parts; part++) {
                        const struct query_tree *t = of[side].parts[part].tree;

                        for (size_t i = 1; i < t->n_nodes; i++)
                                if (!t->nodes[i].is_rest)
                                        number_of(s, (enum graph_side)side, &t->nodes[i].frame);
                }
        }
        name_match_solve(s->match);
        return s;
}

struct same *same_free(struct same *s) {
        if (!s)
                return NULL;
        name_match_free(s->match);
        for (int side = 0; side < GRAPH_N_SIDES; side++)
                map_done(&s->numbers[side]);
        free(s);
        return NULL;
}

uint32_t same_class(struct same *s, enum graph_side side, const struct query_frame *f) {
        return name_match_class(s->match, number_of(s, side, f));
}
