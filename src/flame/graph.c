/* SPDX-License-Identifier: MIT */
/* From the answers of queries to frames: laid over each other, cut down to what a picture can show, named, put in order. */
#include "flame/graph.h"

#include <stdlib.h>
#include <string.h>

#include "flame/same_functions.h"
#include "flame/text_cut.h"
#include "show/frame.h"

/* ---- laying trees over each other -------------------------------------------------------------- */

struct laying {
        struct graph *g;
        struct same *same;  /* NULL: one trace, every node is a frame */
        struct map by_edge; /* parent << 32 | class of the function → frame */
};

enum { CLASS_REST = UINT32_MAX, CLASS_NO_PATH = UINT32_MAX - 1, CLASS_N = UINT32_MAX - 2 };

static uint32_t frame_below(struct laying *l, uint32_t parent, uint32_t class_number,
                            bool *ret_added) {
        struct graph *g = l->g;
        uint64_t *idx;

        *ret_added = true;
        if (l->same) {
                idx = map_put(&l->by_edge, (uint64_t)parent << 32 | class_number, g->frames.n,
                              ret_added);
                if (!*ret_added)
                        return (uint32_t)*idx;
        }
        vec_push(&g->frames, (struct graph_frame){.parent = parent,
                                                  .depth = g->frames.items[parent].depth + 1});
        return (uint32_t)(g->frames.n - 1);
}

static int64_t add_saturated(int64_t a, int64_t b) {
        int64_t sum;

        if (__builtin_add_overflow(a, b, &sum))
                return b < 0 ? INT64_MIN : INT64_MAX;
        return sum;
}

void graph_figure_add(struct graph_figure *to, const struct graph_figure *f) {
        to->value = add_saturated(to->value, f->value);
        to->beside = add_saturated(to->beside, f->beside);
        to->aged_bytes = add_saturated(to->aged_bytes, f->aged_bytes);
        to->aged_byte_s += f->aged_byte_s;
        to->is_sampled |= f->is_sampled;
        to->lacks_blocks |= f->lacks_blocks;
}

static struct graph_figure figure_of(enum query_metric m, const struct query_figures *f) {
        struct query_figure x = query_figure_of(f, m);

        return (struct graph_figure){
                x.value,        metric_is_count(m) ? x.bytes : x.blocks, f->aged_bytes,
                f->aged_byte_s, query_figures_error(f, m) > 0,           f->lacks_blocks};
}

/* What ends at a frame, apart for each side until both are there. */
struct own {
        double is, was;
};
typedef VEC(struct own) own_vec;

static void put_figures(struct laying *l, own_vec *own, uint32_t idx, enum graph_side side,
                        const struct query_figures *total, const struct query_figures *self) {
        enum query_metric m = l->g->metric;
        struct graph_figure figure = figure_of(m, total);
        double value = (double)query_figure_of(self, m).value;

        while (own->n <= idx)
                vec_push(own, (struct own){0, 0});
        graph_figure_add(side == GRAPH_OLD ? &l->g->frames.items[idx].was
                                           : &l->g->frames.items[idx].is,
                         &figure);
        if (side == GRAPH_OLD)
                own->items[idx].was += value;
        else
                own->items[idx].is += value;
}

/* Blocks without a call path have a frame too: nothing of the whole is left blank. */
static void lay_no_path(struct laying *l, own_vec *own, uint32_t parent, enum graph_side side,
                        const struct query_node *root) {
        const struct query_figure f = query_figure_of(&root->self, l->g->metric);
        bool added;
        uint32_t idx;

        if (f.value == 0)
                return;
        idx = frame_below(l, parent, CLASS_NO_PATH, &added);
        l->g->frames.items[idx].is_unnamed = true;
        l->g->frames.items[idx].is_no_path = true;
        put_figures(l, own, idx, side, &root->self, &root->self);
}

static void lay_node(struct laying *l, own_vec *own, uint32_t parent, enum graph_side side,
                     const struct query_node *n, uint32_t *ret_idx) {
        uint32_t class_number = n->is_rest ? CLASS_REST
                                : l->same  ? same_class(l->same, side, &n->frame)
                                           : 0;
        bool added;
        uint32_t idx = frame_below(l, parent, class_number, &added);
        struct graph_frame *f = &l->g->frames.items[idx];

        if (added) {
                f->node = n;
                f->side = side;
                f->is_rest = n->is_rest;
        }
        if (side == GRAPH_NEW && !n->is_rest)
                f->stack = n->stack;
        f->n_rest = n->is_rest && n->n_rest > f->n_rest ? n->n_rest : f->n_rest;
        put_figures(l, own, idx, side, &n->total, n->is_rest ? &n->total : &n->self);
        *ret_idx = idx;
}

/* The row of a process. Of two traces, processes of one name are the same, however many there are of it. */
static uint32_t lay_process(struct laying *l, own_vec *own, enum graph_side side,
                            const struct graph_part *part) {
        static const struct query_figures nothing;
        bool added;
        uint32_t class_number = CLASS_N - text_pool_add(l->g->texts, part->name);
        uint32_t idx = frame_below(l, 0, class_number, &added);
        struct graph_frame *f = &l->g->frames.items[idx];

        if (added) {
                f->is_process = true;
                f->part = part;
                f->side = side;
        }
        put_figures(l, own, idx, side, &part->tree->root->total, &nothing);
        return idx;
}

static void lay_tree(struct laying *l, own_vec *own, enum graph_side side,
                     const struct graph_part *part) {
        static const struct query_figures nothing;
        const struct query_tree *t = part->tree;
        uint32_t *idx_of = calloc(t->n_nodes, sizeof(uint32_t)); /* node → frame */

        if (!idx_of)
                abort();
        put_figures(l, own, 0, side, &t->root->total, &nothing);
        if (part->name)
                idx_of[0] = lay_process(l, own, side, part);
        lay_no_path(l, own, idx_of[0], side, t->root);
        for (size_t i = 0; i < t->n_nodes; i++) /* parents stand before children */
                for (size_t k = 0; k < t->nodes[i].n_children; k++) {
                        const struct query_node *child = &t->nodes[i].children[k];

                        lay_node(l, own, idx_of[i], side, child, &idx_of[child - t->nodes]);
                }
        free(idx_of);
}

static double larger(double a, double b) {
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        return a > b ? a : b;
}

static void add_up_widths(struct graph *g) {
        for (size_t i = 0; i < g->frames.n; i++)
                g->frames.items[i].width = g->frames.items[i].own;
        for (size_t i = g->frames.n; i-- > 1;)
                g->frames.items[g->frames.items[i].parent].width += g->frames.items[i].width;
}

static void lay_all(struct graph *g, const struct graph_source *of, size_t n_sources) {
        struct laying l = {.g = g, .same = n_sources > 1 ? same_new(of) : NULL};
        own_vec own = {0};

        vec_push(&g->frames, (struct graph_frame){.is_kept = true});
        for (size_t i = 0; i < n_sources; i++)
                for (size_t k = 0; k < of[i].n_parts; k++)
                        lay_tree(&l, &own, i ? GRAPH_OLD : GRAPH_NEW, &of[i].parts[k]);
        for (size_t i = 0; i < g->frames.n; i++)
                g->frames.items[i].own = larger(own.items[i].is, own.items[i].was);
        add_up_widths(g);
        vec_free(&own);
        map_done(&l.by_edge);
        same_free(l.same);
}

/* ---- what is shown ------------------------------------------------------------------------------ */

static int compare_doubles_down(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x > y ? -1 : x < y;
}

/* The width from which on frames are shown: some share of the whole, and not too many of them. */
static double least_width(const struct graph *g, const struct graph_bounds *bounds) {
        size_t n_max = bounds->n_max_frames;
        double least = bounds->min_share * g->frames.items[0].width, *widths;

        if (g->frames.n <= n_max)
                return least;
        widths = calloc(g->frames.n, sizeof(double));
        if (!widths)
                abort();
        for (size_t i = 0; i < g->frames.n; i++)
                widths[i] = g->frames.items[i].width;
        qsort(widths, g->frames.n, sizeof(double), compare_doubles_down);
        /* of many equal ones none: the bound holds, and the picture stays the same in every run */
        if (widths[n_max] >= least)
                least = widths[n_max] * (1 + 1e-12);
        free(widths);
        return least;
}

/* Adds a frame that is not shown, and all below it, to the rest of its parent. */
static void add_to_rest(struct graph *g, struct map *rests, uint32_t idx) {
        uint32_t parent = g->frames.items[idx].parent;
        bool added;
        uint64_t *rest = map_put(rests, parent, g->frames.n, &added);
        struct graph_frame *to;

        if (added)
                vec_push(&g->frames,
                         (struct graph_frame){.parent = parent,
                                              .depth = g->frames.items[parent].depth + 1,
                                              .is_rest = true,
                                              .is_kept = true});
        to = &g->frames.items[*rest];
        to->width += g->frames.items[idx].width;
        to->own = to->width;
        to->n_rest += g->frames.items[idx].is_rest ? g->frames.items[idx].n_rest : 1;
        graph_figure_add(&to->is, &g->frames.items[idx].is);
        graph_figure_add(&to->was, &g->frames.items[idx].was);
}

/* A child is never wider or higher than its parent, so what is kept hangs together. */
static void choose_frames(struct graph *g, const struct graph_bounds *bounds) {
        double least = least_width(g, bounds);
        size_t n = g->frames.n;
        struct map rests = {0};

        for (size_t i = 1; i < n; i++) {
                struct graph_frame *f = &g->frames.items[i];

                f->is_kept = g->frames.items[f->parent].is_kept && !f->is_rest && f->width > 0 &&
                             f->width >= least && f->depth <= FLAME_MAX_DEPTH;
        }
        for (size_t i = 1; i < n; i++) {
                const struct graph_frame *f = &g->frames.items[i];

                if (f->is_kept || !g->frames.items[f->parent].is_kept || f->width <= 0)
                        continue;
                g->n_rest += f->is_rest ? f->n_rest : 1;
                add_to_rest(g, &rests, (uint32_t)i);
        }
        map_done(&rests);
}

/* ---- names -------------------------------------------------------------------------------------- */

static void name_place(const struct query_frame *q, struct str *to) {
        if (q->file[0])
                style_add_clean(to, frame_base(q->file));
        if (q->file[0] && q->module[0])
                str_add(to, ", ");
        if (q->module[0])
                style_add_clean(to, frame_base(q->module));
}

/* The number of the text, which is cleared. */
static uint32_t add_cut(struct text_pool *texts, struct str *text) {
        struct str cut = {0};
        uint32_t number;

        text_cut_add_name(&cut, str_text(text), FLAME_MAX_NAME);
        number = text_pool_add(texts, str_text(&cut));
        str_done(&cut);
        str_clear(text);
        return number;
}

/* Whether the rules of names would leave it out. */
static bool is_helper(const struct view *v, const struct query_frame *q) {
        struct name_frame frame = frame_of(q);
        enum name_kind kind = name_frame_kind(v->frames.names, &frame);

        return kind == NAME_ALLOCATOR || kind == NAME_START || kind == NAME_MACHINERY;
}

enum { MAX_PROGRAMS = 256 }; /* looked at: a build may have started thousands of processes */

/* Code of a program that was recorded, not of a library. */
static bool is_own(const struct view *v, const struct query_frame *q) {
        for (size_t i = 0; i < MIN(v->v->n_processes, (size_t)MAX_PROGRAMS) && q->module[0]; i++)
                if (strcmp(v->v->processes[i].start.exe, q->module) == 0)
                        return true;
        return false;
}

static void name_line(const struct query_frame *q, struct str *to) {
        style_add_clean(to, frame_base(q->file));
        str_addf(to, ":%u", q->line);
}

static void name_frame(struct graph *g, const struct graph_source *of, struct graph_frame *f) {
        const struct view *v = of[f->side].view;
        const struct query_frame *q = f->node ? &f->node->frame : NULL;
        struct str s = {0};

        if (f->is_process) {
                style_add_clean(&s, f->part->name);
                if (f->part->pid && !g->has_old)
                        str_addf(&s, " (%u)", f->part->pid);
                f->name = add_cut(g->texts, &s);
                style_add_clean(&s, g->has_old ? "" : f->part->place);
                f->place = add_cut(g->texts, &s);
                str_done(&s);
                return;
        }
        if (f->is_rest || !q) {
                f->name = text_pool_add(g->texts, f->is_rest ? ""
                                                  : f->depth ? "(no call path)"
                                                             : "all");
                return;
        }
        f->is_task = f->node->is_task;
        f->is_inlined = q->inlined;
        f->is_unnamed = !q->function[0] || q->guess;
        f->function = f->is_unnamed ? NULL : q->function;
        f->is_helper = v->o->request->full && is_helper(v, q);
        f->is_line = f->node->is_line;
        f->is_own = is_own(v, q);
        if (f->is_line)
                name_line(q, &s);
        else
                view_add_name(v, q, f->is_task, &s);
        if (of[f->side].by_line && q->line && q->file[0]) {
                str_add(&s, "  ");
                name_line(q, &s);
        }
        f->name = add_cut(g->texts, &s);
        name_place(q, &s);
        f->place = add_cut(g->texts, &s);
        style_add_clean(&s, f->is_unnamed ? frame_base(q->module)
                                          : name_crate(v->frames.names, q->function, q->module));
        f->crate = s.n ? add_cut(g->texts, &s) : text_pool_add(g->texts, "unknown module");
        style_add_clean(&s, q->module);
        f->object = add_cut(g->texts, &s);
        str_done(&s);
}

/* ---- order -------------------------------------------------------------------------------------- */

static int frame_compare(const void *a, const void *b, void *graph) {
        const struct graph_frame *x = a, *y = b;
        const struct graph *g = graph;
        int order;

        if (x->is_rest != y->is_rest)
                return x->is_rest ? 1 : -1;
        if (x->width != y->width)
                return x->width > y->width ? -1 : 1;
        order = strcmp(g->texts->items.items[x->name], g->texts->items.items[y->name]);
        if (!order)
                order = strcmp(g->texts->items.items[x->place], g->texts->items.items[y->place]);
        if (!order && x->node && y->node) /* the query's own order */
                order = x->node < y->node ? -1 : x->node > y->node;
        return order;
}

/* Sorts by parent level by level, so that children stand in a row behind all frames above them. */
static void put_in_order(struct graph *g) {
        VEC(struct graph_frame) sorted = {0};
        size_t n_kept = 0, *n_of, n = g->frames.n;
        struct graph_frame *all = g->frames.items;
        uint32_t *children, *first;

        n_of = calloc(n + 1, sizeof(*n_of));
        first = calloc(n + 1, sizeof(*first));
        children = calloc(n + 1, sizeof(*children));
        if (!n_of || !first || !children)
                abort();
        for (size_t i = 1; i < n; i++)
                n_of[all[i].parent] += all[i].is_kept;
        for (size_t i = 0; i < n; i++) {
                first[i] = (uint32_t)n_kept;
                n_kept += n_of[i];
        }
        for (size_t i = 1; i < n; i++)
                if (all[i].is_kept)
                        children[first[all[i].parent]++] = (uint32_t)i;
        for (size_t i = n; i-- > 0;)
                first[i] -= (uint32_t)n_of[i];
        vec_reserve(&sorted, n_kept + 1);
        vec_push(&sorted, all[0]);
        sorted.items[0].parent = 0;
        sorted.items[0].first_child = 0; /* the frame's old number, until its turn comes */
        for (size_t i = 0; i < sorted.n; i++) {
                uint32_t old = sorted.items[i].first_child;
                size_t begin = sorted.n;

                for (size_t k = 0; k < n_of[old]; k++) {
                        vec_push(&sorted, all[children[first[old] + k]]);
                        sorted.items[sorted.n - 1].parent = (uint32_t)i;
                        sorted.items[sorted.n - 1].first_child = children[first[old] + k];
                }
                sorted.items[i].first_child = (uint32_t)begin;
                sorted.items[i].n_children = (uint32_t)(sorted.n - begin);
                if (sorted.n - begin > 1)
                        qsort_r(sorted.items + begin, sorted.n - begin, sizeof(sorted.items[0]),
                                frame_compare, g);
        }
        free(n_of);
        free(first);
        free(children);
        vec_free(&g->frames);
        g->frames.items = sorted.items;
        g->frames.n = sorted.n;
        g->frames.cap = sorted.cap;
}

static void place_frames(struct graph *g) {
        for (size_t i = 0; i < g->frames.n; i++) {
                const struct graph_frame *f = &g->frames.items[i];
                double at = f->begin;

                for (uint32_t k = 0; k < f->n_children; k++) {
                        struct graph_frame *child = &g->frames.items[f->first_child + k];

                        child->begin = at;
                        at += child->width;
                }
                g->max_depth = MAX(g->max_depth, f->depth);
        }
}

uint32_t graph_last_row(const struct graph *g, double least_width) {
        uint32_t row = 0;

        for (size_t i = 0; i < g->frames.n; i++)
                if (g->frames.items[i].width >= least_width)
                        row = MAX(row, g->frames.items[i].depth);
        return row;
}

void graph_make(struct graph *g, const struct graph_source *of, size_t n_sources,
                const struct graph_bounds *bounds, struct text_pool *texts) {
        *g = (struct graph){.metric = of[0].view->metric,
                            .is_reversed = of[0].parts[0].tree->options.kind == QUERY_BOTTOM_UP,
                            .has_old = n_sources > 1,
                            .texts = texts};
        lay_all(g, of, n_sources);
        choose_frames(g, bounds);
        for (size_t i = 0; i < g->frames.n; i++)
                if (g->frames.items[i].is_kept)
                        name_frame(g, of, &g->frames.items[i]);
        put_in_order(g);
        place_frames(g);
        graph_colour(g);
}

void graph_done(struct graph *g) {
        vec_free(&g->frames);
        *g = (struct graph){0};
}
