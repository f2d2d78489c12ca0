/* SPDX-License-Identifier: MIT */
#include "top/callers.h"

#include <string.h>

enum { MAX_DEPTH = 256, MAX_ROWS = 20000 };

#define MIN_SHARE 0.002

/* ---- keys: FNV-1a over what a row shows, so that it is the same row in the next frame ------------- */

#define KEY_BASIS 0xcbf29ce484222325ull

static uint64_t key_add(uint64_t key, const char *text) {
        for (; *text; text++)
                key = (key ^ (unsigned char)*text) * 0x100000001b3ull;
        return (key ^ 0xff) * 0x100000001b3ull;
}

static uint64_t key_of(uint64_t parent, const struct query_frame *f) {
        uint64_t key = key_add(key_add(parent, f->function), f->module);

        if (!f->function[0])
                key = (key ^ f->offset) * 0x100000001b3ull;
        return key;
}

/* By the frames that are shown: of a group's call paths those are the same, whichever stands for it. */
static uint64_t key_of_stack(const struct model *m, uint32_t stack) {
        struct frame_stack s = {0};
        uint64_t key = KEY_BASIS;

        frame_stack_fill(&s, &m->names, stack, false);
        for (size_t i = 0; i < s.shown.n; i++) {
                const struct name_frame *f = &s.frames.items[s.shown.items[i].frame_idx];

                key = key_add(key_add(key, f->function), f->module);
                key = (key ^ (f->function[0] ? f->line : f->offset)) * 0x100000001b3ull;
        }
        frame_stack_done(&s);
        return key;
}

/* ---- what was chosen ------------------------------------------------------------------------------ */

static void keep(struct str *to, const char *text) {
        str_clear(to);
        str_add(to, text);
}

void paths_of_group(struct callers_of *p, const struct model *m, const struct query_group *g) {
        p->by = m->ask.by;
        p->is_top_down = false;
        keep(&p->function, g->frame.function);
        keep(&p->module, g->frame.module);
        keep(&p->file, g->frame.file);
        keep(&p->component, g->name);
        p->line = g->frame.line;
        p->site = key_of_stack(m, g->stack);
        str_clear(&p->title);
        model_add_name(m, g, true, &p->title);
}

void paths_of_done(struct callers_of *p) {
        str_done(&p->function);
        str_done(&p->module);
        str_done(&p->file);
        str_done(&p->component);
        str_done(&p->title);
}

static bool is_chosen(struct callers_of *p, const struct query_frame *f) {
        switch (p->by) {
        case QUERY_BY_MODULE: return strcmp(f->module, str_text(&p->module)) == 0;
        case QUERY_BY_COMPONENT: return true; /* the tree is of its call paths alone */
        case QUERY_BY_LINE:
                if (f->line != p->line || strcmp(f->file, str_text(&p->file)) != 0)
                        return false;
                break;
        default: break;
        }
        return strcmp(f->function, str_text(&p->function)) == 0 &&
               strcmp(f->module, str_text(&p->module)) == 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static bool is_toggled(const struct callers *p, uint64_t key) {
        for (size_t i = 0; i < p->toggled.n; i++)
                if (p->toggled.items[i] == key)
                        return true;
        return false;
}

static void add_branch(struct callers *p, const struct query_node *n, unsigned depth,
                       uint64_t parent, bool opens, unsigned level, enum query_metric metric) {
        uint64_t key = key_of(parent, &n->frame);
        struct callers_row row = {.frame = frame_of(&n->frame),
                                  .is_task = n->is_task,
                                  .is_rest = n->is_rest,
                                  .n_rest = n->n_rest,
                                  .f = &n->total,
                                  .depth = depth,
                                  .key = key,
                                  .can_open = n->n_children > 0,
                                  .is_open = n->n_children > 0 && opens != is_toggled(p, key)};
        int64_t whole = query_figure_of(&n->total, metric).value;

        if (p->rows.n >= MAX_ROWS || level >= MAX_DEPTH)
                return;
        vec_push(&p->rows, row);
        for (size_t i = 0; row.is_open && i < n->n_children; i++) {
                int64_t part = query_figure_of(&n->children[i].total, metric).value;

                /* a row of single calls stays where it is: stacks are deep and screens are narrow */
                add_branch(p, &n->children[i], depth + (n->n_children > 1), key,
                           opens && part > 0 && part >= whole / 2, level + 1, metric);
        }
}

/* A component may have the memory of paths whose innermost frame is another's: it is told by whole paths. */
static struct query_tree *tree_of_component(const struct model *m, const char *name,
                                            const struct query_tree_options *o) {
        struct query_answer part = *model_paths(m);
        struct query_tree *tree;

        part.sites = calloc(part.n_sites + 1, sizeof(part.sites[0]));
        if (!part.sites)
                abort();
        part.n_sites = 0;
        for (size_t i = 0; i < model_paths(m)->n_sites; i++)
                if (strcmp(query_component(m->q, model_paths(m)->sites[i].stack), name) == 0)
                        part.sites[part.n_sites++] = model_paths(m)->sites[i];
        tree = query_tree_answer(m->q, &part, o);
        free(part.sites);
        return tree;
}

static void fill_tree(struct callers *p, const struct model *m, struct callers_of *of) {
        struct query_tree_options o = {
                .kind = of->is_top_down ? QUERY_TOP_DOWN : QUERY_BOTTOM_UP,
                .merge = of->by == QUERY_BY_LINE && !of->is_top_down ? QUERY_MERGE_ASKER
                                                                     : QUERY_MERGE_FUNCTION,
                .metric = model_paths_metric(m),
                .min_share = MIN_SHARE,
                .max_depth = MAX_DEPTH,
        };
        const struct query_node *root;

        p->tree = of->by == QUERY_BY_COMPONENT && !of->is_top_down
                          ? tree_of_component(m, str_text(&of->component), &o)
                          : query_tree_answer(m->q, model_paths(m), &o);
        root = p->tree->root;
        for (size_t i = 0; i < root->n_children; i++)
                if (of->is_top_down || is_chosen(of, &root->children[i].frame))
                        add_branch(p, &root->children[i], 0, KEY_BASIS, true, 0, o.metric);
}

/* One call path: all frames that are shown of it, with the figures of the whole. */
static void fill_site(struct callers *p, const struct model *m, const struct callers_of *of) {
        struct query_group_options o = {.by = QUERY_BY_SITE, .metric = model_paths_metric(m)};
        struct frame_stack stack = {0};

        p->sites = query_group_answer(m->q, model_paths(m), &o);
        for (size_t i = 0; i < p->sites->n; i++) {
                const struct query_group *g = &p->sites->rows[i];

                if (key_of_stack(m, g->stack) != of->site)
                        continue;
                frame_stack_fill(&stack, &m->names, g->stack, false);
                for (size_t k = 0; k < stack.shown.n; k++)
                        vec_push(&p->rows,
                                 (struct callers_row){
                                         .frame =
                                                 stack.frames.items[stack.shown.items[k].frame_idx],
                                         .is_task = stack.shown.items[k].is_task,
                                         .f = &g->self,
                                         .key = k});
                break;
        }
        frame_stack_done(&stack);
}

void callers_fill(struct callers *p, const struct model *m, struct callers_of *of) {
        callers_forget(p);
        if (of->by == QUERY_BY_SITE && !of->is_top_down)
                fill_site(p, m, of);
        else
                fill_tree(p, m, of);
}

void callers_toggle(struct callers *p, uint64_t key) {
        for (size_t i = 0; i < p->toggled.n; i++)
                if (p->toggled.items[i] == key) {
                        p->toggled.items[i] = p->toggled.items[--p->toggled.n];
                        return;
                }
        vec_push(&p->toggled, key);
}

void callers_forget(struct callers *p) {
        query_tree_free(p->tree);
        query_groups_free(p->sites);
        p->tree = NULL;
        p->sites = NULL;
        vec_clear(&p->rows);
}

void callers_done(struct callers *p) {
        callers_forget(p);
        vec_free(&p->rows);
        vec_free(&p->toggled);
}
