/* SPDX-License-Identifier: MIT */
/* Call paths merged to a tree. In two steps, so that memory follows what is told: first the shape, a few bytes a
 * node, with the weight of each; then, of the nodes heavy enough, the figures. */
#include <errno.h>
#include <string.h>

#include "query/call_path.h"
#include "query/path_weights.h"
#include "query/query_internal.h"
#include "query/search_pattern.h"
#include "query/spent_time.h"
#include "query/through.h"

enum { BUD_BY_LINE = 1u << 31 }; /* in keys: one of `lines` */

struct bud {
        uint32_t parent; /* earlier in the list; the root is its own */
        uint32_t key;    /* of the frame */
        uint32_t depth;
        bool is_task;
        bool is_chosen;  /* max_alike: it, or a call path below it, is told */
        uint64_t weight; /* sum of what the metric has of the sites at and below it, without sign */
};

struct growing {
        struct query *q;
        const struct query_tree_options *o;
        const struct query_site *rows;
        size_t n_rows;
        bool may_stop; /* whoever asked can be told of it */
        struct call_paths paths;
        struct call_paths lines; /* QUERY_MERGE_ASKER: keys of the code that asked */
        VEC(struct bud) buds;
        struct map by_edge;  /* parent << 32 | key → bud */
        uint32_t *bud_of;    /* site → where its path ends; UINT32_MAX: not in the tree */
        VEC(uint32_t) trail; /* buds of the path put in last, below the root */
        struct matcher {
                struct pattern *pattern;
                bool is_exact;        /* some function is called just so */
                bool is_place;        /* some code without a name is */
                struct map decided;   /* number of a frame → whether it matches */
                struct map functions; /* keys that matched, to count them */
        } match;
};

/* ---- the function that is meant -------------------------------------------------------------- */

static bool is_called(const struct growing *g, const struct query_frame *f) {
        return strcmp(f->function, g->o->function) == 0 ||
               strcmp(name_full(query_names(g->q), f->function), g->o->function) == 0 ||
               strcmp(name_short(query_names(g->q), f->function), g->o->function) == 0;
}

/* Code without a name is called by its place: app+0x1234. */
static bool is_place(const struct growing *g, const struct query_frame *f) {
        struct name_frame frame = {f->function, f->file, f->module, f->offset, 0, false, f->guess};

        return strcmp(name_label(query_names(g->q), &frame, false), g->o->function) == 0;
}

static bool frame_matches(struct growing *g, uint32_t number) {
        bool added;
        uint64_t *decided = map_put(&g->match.decided, number, 0, &added);

        if (added) {
                struct query_frame f = call_paths_frame(g->q, number);

                if (!f.function[0] || f.guess)
                        *decided = g->match.is_place && is_place(g, &f);
                else
                        *decided = g->match.is_exact
                                           ? is_called(g, &f)
                                           : !g->match.is_place &&
                                                     pattern_matches(g->match.pattern, f.function);
        }
        return *decided;
}

/* Whether some code without a name is called so. Only what looks like a place is worth looking for. */
static bool find_place(const struct growing *g) {
        const struct trace_view *v = g->q->view;

        if (!strstr(g->o->function, "0x"))
                return false;
        for (uint32_t i = 0; i < v->n_locations; i++) {
                uint32_t begin = g->q->symbol_begin[i];
                bool has_symbol = begin < g->q->symbol_begin[i + 1];
                struct query_frame f =
                        call_paths_frame(g->q, has_symbol ? begin : (uint32_t)v->n_symbols + i);

                if ((!f.function[0] || f.guess) && is_place(g, &f))
                        return true;
        }
        return false;
}

/* A name that fits a function exactly is no pattern: `operator()(int)` and `f` mean themselves. */
static int match_begin(struct growing *g, struct err *reterr) {
        const struct trace_view *v = g->q->view;

        if (!g->o->function)
                return 0;
        for (size_t i = 0; i < v->n_symbols && !g->match.is_exact; i++) {
                struct query_frame f = {.function = v->symbols[i].function};

                g->match.is_exact = f.function[0] && !v->symbols[i].guess && is_called(g, &f);
        }
        g->match.is_place = !g->match.is_exact && find_place(g);
        return g->match.is_exact || g->match.is_place
                       ? 0
                       : pattern_new(g->o->function, &g->match.pattern, reterr);
}

/* The outermost frame of the path that is meant, as index into all; UINT32_MAX: none. */
static uint32_t find_outermost(struct growing *g) {
        for (size_t i = g->paths.all.n; i-- > 0;)
                if (frame_matches(g, g->paths.all.items[i].number))
                        return (uint32_t)i;
        return UINT32_MAX;
}

/* ---- shape ----------------------------------------------------------------------------------- */

static uint32_t bud_below(struct growing *g, uint32_t parent, uint32_t key, bool is_task) {
        bool added;
        uint64_t *idx = map_put(&g->by_edge, (uint64_t)parent << 32 | key, g->buds.n, &added);

        if (added)
                vec_push(&g->buds, (struct bud){parent, key, g->buds.items[parent].depth + 1,
                                                is_task, false, 0});
        return (uint32_t)*idx;
}

static uint32_t key_of(struct growing *g, const struct call_path_frame *f, bool is_asker) {
        return is_asker && g->o->merge == QUERY_MERGE_ASKER
                       ? call_paths_key(&g->lines, f->number) | BUD_BY_LINE
                       : call_paths_key(&g->paths, f->number);
}

/* The next frame of the path that is being put in; what it shares with the path before is not looked up again. */
static void grow(struct growing *g, size_t depth, const struct call_path_frame *f, bool is_asker) {
        uint32_t key = key_of(g, f, is_asker);
        uint32_t parent = depth ? g->trail.items[depth - 1] : 0;

        if (depth < g->trail.n && g->buds.items[g->trail.items[depth]].key == key &&
            g->buds.items[g->trail.items[depth]].parent == parent)
                return;
        g->trail.n = depth;
        vec_push(&g->trail, bud_below(g, parent, key, f->is_task));
}

/* Below the innermost frame its line. */
static size_t grow_line(struct growing *g, size_t depth) {
        const struct call_path_frame *f = &g->paths.shown.items[0];
        struct query_frame frame = call_paths_frame(g->q, f->number);
        uint32_t key;

        if (!frame.function[0] || frame.guess || !frame.file[0] || !frame.line)
                return depth;
        key = call_paths_key(&g->lines, f->number) | BUD_BY_LINE;
        g->trail.n = depth;
        vec_push(&g->trail, bud_below(g, g->trail.items[depth - 1], key, f->is_task));
        return depth + 1;
}

/* Frames from `begin` of shown on: outwards, or inwards from behind `begin`. */
static size_t grow_outwards(struct growing *g, size_t depth, size_t begin) {
        for (size_t i = begin; i < g->paths.shown.n; i++)
                grow(g, depth++, &g->paths.shown.items[i], i == 0);
        return depth;
}

static size_t grow_inwards(struct growing *g, size_t depth, size_t end) {
        for (size_t i = end; i-- > 0;)
                grow(g, depth++, &g->paths.shown.items[i], i == 0);
        return depth;
}

/* How many frames are shown that are farther in than `frame_idx` of all. */
static size_t n_shown_inside(const struct call_paths *p, uint32_t frame_idx) {
        size_t n = 0;

        if (p->is_full)
                return frame_idx;
        while (n < p->folded.n && p->folded.items[n].frame_idx < frame_idx)
                n++;
        return n;
}

static bool is_shown(const struct call_paths *p, size_t n_inside, uint32_t frame_idx) {
        return p->is_full ||
               (n_inside < p->folded.n && p->folded.items[n_inside].frame_idx == frame_idx);
}

/* The function first, even where it is not shown otherwise; then those that called it, or that it called. */
static uint32_t grow_from_function(struct growing *g) {
        uint32_t at = find_outermost(g);
        size_t inside, depth = 0;

        if (at == UINT32_MAX)
                return UINT32_MAX;
        map_put(&g->match.functions, call_paths_key(&g->paths, g->paths.all.items[at].number), 0,
                NULL);
        inside = n_shown_inside(&g->paths, at);
        grow(g, depth++, &g->paths.all.items[at], false);
        depth = g->o->kind == QUERY_CALLERS
                        ? grow_outwards(g, depth, inside + is_shown(&g->paths, inside, at))
                        : grow_inwards(g, depth, inside);
        g->trail.n = depth;
        return g->trail.items[depth - 1];
}

static uint32_t grow_path(struct growing *g, uint32_t stack) {
        size_t depth;

        call_paths_load(&g->paths, stack);
        if (g->o->kind == QUERY_CALLERS || g->o->kind == QUERY_CALLEES)
                return grow_from_function(g);
        depth = g->o->kind == QUERY_BOTTOM_UP ? grow_outwards(g, 0, 0)
                                              : grow_inwards(g, 0, g->paths.shown.n);
        if (g->o->with_lines && depth)
                depth = grow_line(g, depth);
        g->trail.n = depth;
        return depth ? g->trail.items[depth - 1] : 0;
}

/* Figures of a damaged trace may be anything: a parent must never come out lighter than its child. */
static void add_weight(struct bud *b, uint64_t weight) {
        if (__builtin_add_overflow(b->weight, weight, &b->weight))
                b->weight = UINT64_MAX;
}

static uint64_t weight_of(const struct growing *g, const struct query_site *site) {
        int64_t value = query_figure_of(&site->f, g->o->metric).value;

        return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static void grow_all(struct growing *g) {
        vec_push(&g->buds, (struct bud){0, CALL_PATH_NO_KEY, 0, false, false, 0});
        for (size_t i = 0; i < g->n_rows; i++) {
                if (g->may_stop && !query_go_on_at(g->q, i, g->n_rows))
                        return;
                g->bud_of[i] = grow_path(g, g->rows[i].stack);
                if (g->bud_of[i] != UINT32_MAX)
                        add_weight(&g->buds.items[g->bud_of[i]], weight_of(g, &g->rows[i]));
        }
        for (size_t i = g->buds.n; i-- > 1;)
                add_weight(&g->buds.items[g->buds.items[i].parent], g->buds.items[i].weight);
}

/* The call paths that are told where max_alike says how many, with their callers. What weighs a billionth more than the least is alike:
 * shares are rounded. */
static void choose_paths(struct growing *g) {
        double least = g->o->min_share * (double)g->buds.items[0].weight * (1 + 1e-8);
        uint32_t n_alike = 0;

        for (size_t i = 0; g->o->max_alike && i < g->n_rows; i++) {
                uint32_t bud = g->bud_of[i];

                if (bud == UINT32_MAX || g->buds.items[bud].is_chosen ||
                    ((double)weight_of(g, &g->rows[i]) <= least && n_alike++ >= g->o->max_alike))
                        continue;
                for (; !g->buds.items[bud].is_chosen; bud = g->buds.items[bud].parent)
                        g->buds.items[bud].is_chosen = true;
        }
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Where the buds end up; one each a bud. */
struct places {
        uint32_t *node_of;    /* of those kept */
        uint32_t *first;      /* of those kept: the node of its first child */
        uint32_t *n_children; /* of those kept: children kept, and one more for a rest */
        bool *has_rest;
};

static bool is_kept(const struct growing *g, size_t i) {
        const struct bud *b = &g->buds.items[i];
        double least = g->o->min_share * (double)g->buds.items[0].weight;

        if (i == 0)
                return true;
        if (g->o->max_alike && !b->is_chosen)
                return false;
        if (g->o->max_depth && b->depth > g->o->max_depth)
                return false;
        return (double)b->weight >= least && (b->weight > 0 || g->o->min_share <= 0);
}

static void count_children(const struct growing *g, struct places *l) {
        for (size_t i = 1; i < g->buds.n; i++) {
                uint32_t parent = g->buds.items[i].parent;

                if (is_kept(g, i)) {
                        l->n_children[parent]++;
                } else if (is_kept(g, parent) && !l->has_rest[parent]) {
                        l->n_children[parent]++;
                        l->has_rest[parent] = true;
                }
        }
}

/* A child is never heavier or higher than its parent, so what is kept hangs together. The children of a node stand in
 * a row, in the order of the buds, their rest last; parents stand before children. Returns the number of nodes. */
static size_t place_nodes(const struct growing *g, struct places *l) {
        size_t n = 1;

        count_children(g, l);
        for (size_t i = 0; i < g->buds.n; i++)
                if (is_kept(g, i)) {
                        l->first[i] = (uint32_t)n;
                        n += l->n_children[i];
                }
        for (size_t i = 1; i < g->buds.n; i++)
                if (is_kept(g, i))
                        l->node_of[i] = l->first[g->buds.items[i].parent]++;
        for (size_t i = 1; i < g->buds.n; i++)
                if (is_kept(g, i))
                        l->first[g->buds.items[i].parent]--;
        return n;
}

static struct query_node *rest_of(const struct places *l, struct query_node *nodes, uint32_t bud) {
        return &nodes[l->first[bud] + l->n_children[bud] - 1];
}

static const struct query_node tree_nothing = {.frame = {.function = "", .file = "", .module = ""}};

static void make_nodes(const struct growing *g, const struct places *l, struct query_node *nodes) {
        for (uint32_t i = 0; i < g->buds.n; i++) {
                const struct bud *b = &g->buds.items[i];
                struct query_node *n = &nodes[l->node_of[i]];

                if (!is_kept(g, i)) {
                        if (is_kept(g, b->parent))
                                rest_of(l, nodes, b->parent)->n_rest++;
                        continue;
                }
                *n = tree_nothing;
                if (i && b->key & BUD_BY_LINE)
                        n->frame = call_paths_key_frame(&g->lines, b->key & ~BUD_BY_LINE);
                else if (i)
                        n->frame = call_paths_key_frame(&g->paths, b->key);
                n->is_line = i && g->o->with_lines && b->key & BUD_BY_LINE;
                n->is_task = b->is_task;
                n->n_children = l->n_children[i];
                n->children = n->n_children ? &nodes[l->first[i]] : NULL;
                if (l->has_rest[i]) {
                        *rest_of(l, nodes, i) = tree_nothing;
                        rest_of(l, nodes, i)->is_rest = true;
                }
        }
}

static void fill_nodes(const struct growing *g, const struct places *l, struct query_node *nodes,
                       size_t n_nodes) {
        VEC(uint64_t) most = {0}; /* of a node: the weight of its heaviest site */

        for (size_t i = 0; i < n_nodes; i++)
                vec_push(&most, 0);
        for (size_t i = 0; i < g->n_rows; i++) {
                uint32_t bud = g->bud_of[i];
                struct query_node *n;

                if (bud == UINT32_MAX)
                        continue;
                n = is_kept(g, bud) ? &nodes[l->node_of[bud]] : NULL;
                while (!is_kept(g, bud))
                        bud = g->buds.items[bud].parent;
                if (!n)
                        n = rest_of(l, nodes, bud);
                query_figures_add(&n->self, &g->rows[i].f);
                if (n->n_sites++ == 0 || weight_of(g, &g->rows[i]) > most.items[n - nodes]) {
                        n->stack = g->rows[i].stack;
                        most.items[n - nodes] = weight_of(g, &g->rows[i]);
                }
        }
        for (size_t i = n_nodes; i-- > 0;) {
                nodes[i].total = nodes[i].self;
                for (size_t k = 0; k < nodes[i].n_children; k++) {
                        query_figures_add(&nodes[i].total, &nodes[i].children[k].total);
                        nodes[i].n_sites += nodes[i].children[k].n_sites;
                }
        }
        vec_free(&most);
}

static int node_compare(const void *a, const void *b, void *metric) {
        const struct query_node *x = a, *y = b;
        int order;

        if (x->is_rest != y->is_rest)
                return x->is_rest ? 1 : -1;
        order = query_figures_compare(&x->total, &y->total, *(const enum query_metric *)metric);
        if (!order)
                order = strcmp(x->frame.function, y->frame.function);
        if (!order)
                order = strcmp(x->frame.module, y->frame.module);
        if (!order)
                order = x->frame.offset < y->frame.offset ? -1 : x->frame.offset > y->frame.offset;
        if (!order)
                order = x->frame.line < y->frame.line ? -1 : x->frame.line > y->frame.line;
        return order ? order : strcmp(x->frame.file, y->frame.file);
}

static uint32_t *new_numbers(size_t n) {
        uint32_t *p = calloc(n + 1, sizeof(uint32_t));

        if (!p)
                abort();
        return p;
}

static void grow_nodes(struct growing *g, struct query_tree *t) {
        struct places l = {.node_of = new_numbers(g->buds.n),
                           .first = new_numbers(g->buds.n),
                           .n_children = new_numbers(g->buds.n),
                           .has_rest = calloc(g->buds.n + 1, sizeof(bool))};
        enum query_metric metric = g->o->metric;

        choose_paths(g);
        t->n_nodes = place_nodes(g, &l);
        t->nodes = t->root = calloc(t->n_nodes, sizeof(t->nodes[0]));
        if (!t->nodes || !l.has_rest)
                abort();
        make_nodes(g, &l, t->nodes);
        fill_nodes(g, &l, t->nodes, t->n_nodes);
        for (size_t i = 0; i < t->n_nodes; i++)
                if (t->nodes[i].n_children > 1)
                        qsort_r(t->nodes[i].children, t->nodes[i].n_children, sizeof(t->nodes[0]),
                                node_compare, &metric);
        free(l.node_of);
        free(l.first);
        free(l.n_children);
        free(l.has_rest);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static enum call_path_merge merge_of(enum query_merge merge) {
        switch (merge) {
        case QUERY_MERGE_FUNCTION:
        case QUERY_MERGE_ASKER: return CALL_PATH_BY_FUNCTION;
        case QUERY_MERGE_LINE: return CALL_PATH_BY_LINE;
        case QUERY_MERGE_ADDRESS: break;
        }
        return CALL_PATH_BY_PLACE;
}

static void growing_init(struct growing *g, struct query *q, const struct query_site *rows,
                         size_t n_rows, const struct query_tree_options *o) {
        *g = (struct growing){
                .q = q, .o = o, .rows = rows, .n_rows = n_rows, .bud_of = new_numbers(n_rows)};
        call_paths_init(&g->paths, q, merge_of(o->merge), o->is_full);
        g->paths.is_of_time = query_metric_time(o->metric);
        if (o->merge != QUERY_MERGE_ASKER && !o->with_lines)
                return;
        call_paths_init(&g->lines, q, CALL_PATH_BY_LINE, o->is_full);
        g->lines.is_of_time = g->paths.is_of_time;
}

static void growing_done(struct growing *g) {
        call_paths_done(&g->paths);
        if (g->o->merge == QUERY_MERGE_ASKER || g->o->with_lines)
                call_paths_done(&g->lines);
        vec_free(&g->buds);
        vec_free(&g->trail);
        map_done(&g->by_edge);
        map_done(&g->match.decided);
        map_done(&g->match.functions);
        pattern_free(g->match.pattern);
        free(g->bud_of);
}

static int tree_grow(struct growing *g, struct query_tree *t, struct err *reterr) {
        int r = match_begin(g, reterr);

        if (r < 0)
                return r;
        g->may_stop = true;
        grow_all(g);
        r = query_end(g->q, reterr);
        if (r == 0 && g->match.pattern)
                r = pattern_check(g->match.pattern, reterr);
        if (r < 0)
                return r;
        t->n_functions = g->match.functions.n;
        if (g->o->function && t->n_functions == 0)
                return err_set(
                        reterr, -ENOENT,
                        "'%s': no call path in this scope contains such a function: group by function to list them",
                        g->o->function);
        grow_nodes(g, t);
        return 0;
}

int query_tree(struct query *q, const struct query_scope *scope, const struct query_tree_options *o,
               struct query_tree **ret, struct err *reterr) {
        _cleanup_(query_tree_freep) struct query_tree *t = calloc(1, sizeof(*t));
        struct growing g;
        int r;

        if (!t)
                abort();
        t->options = *o;
        r = query_ask_own(q, scope, &t->answer, reterr);
        if (r < 0)
                return r;
        growing_init(&g, q, t->answer->sites, t->answer->n_sites, o);
        r = tree_grow(&g, t, reterr);
        growing_done(&g);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

int query_tree_weights(struct query *q, const struct query_weights *w,
                       const struct query_tree_options *o, struct query_tree **ret,
                       struct err *reterr) {
        _cleanup_(query_tree_freep) struct query_tree *t = calloc(1, sizeof(*t));
        struct growing g;
        int r;

        if (!t)
                abort();
        t->options = *o;
        growing_init(&g, q, w->rows, w->n, o);
        r = tree_grow(&g, t, reterr);
        growing_done(&g);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

/* ---- through a function ------------------------------------------------------------------------ */

enum { PATH_UNKNOWN, PATH_PASSES_BY, PATH_GOES_THROUGH };

struct passing {
        struct growing g; /* its matcher alone */
        uint8_t *stacks;  /* what is known of each */
};

static bool location_matches(struct growing *g, uint32_t location) {
        uint32_t begin, end;

        if (location >= g->q->view->n_locations)
                return false;
        begin = g->q->symbol_begin[location], end = g->q->symbol_begin[location + 1];
        if (begin == end)
                return frame_matches(g, (uint32_t)g->q->view->n_symbols + location);
        for (uint32_t i = begin; i < end; i++)
                if (frame_matches(g, i))
                        return true;
        return false;
}

/* Outwards to where it is known; callers have smaller numbers, else the file is damaged. */
static bool goes_through(struct passing *p, uint32_t stack) {
        const struct trace_view *v = p->g.q->view;
        uint8_t found = PATH_PASSES_BY;
        uint32_t at = stack;

        if (stack >= v->n_stacks)
                return false;
        for (; at > 0; at = v->stacks[at].parent) {
                if (p->stacks[at] != PATH_UNKNOWN) {
                        found = p->stacks[at];
                        break;
                }
                if (location_matches(&p->g, v->stacks[at].location)) {
                        found = PATH_GOES_THROUGH;
                        break;
                }
                if (v->stacks[at].parent >= at)
                        break;
        }
        for (uint32_t i = stack; i > 0; i = v->stacks[i].parent) {
                p->stacks[i] = found;
                if (i == at || v->stacks[i].parent >= i)
                        break;
        }
        return found == PATH_GOES_THROUGH;
}

int query_through(struct query *q, const struct query_answer *a, const char *function,
                  enum query_metric m, struct query_figures *ret, struct err *reterr) {
        const struct query_tree_options o = {.metric = m, .function = function};
        struct passing p = {.g = {.q = q, .o = &o}, .stacks = calloc(q->view->n_stacks + 1, 1)};
        struct query_figures sum = {0};
        bool is_any = false;
        int r = match_begin(&p.g, reterr);

        if (!p.stacks)
                abort();
        for (size_t i = 0; r >= 0 && i < a->n_sites && query_go_on_at(q, i, a->n_sites); i++)
                if (goes_through(&p, a->sites[i].stack)) {
                        query_figures_add(&sum, &a->sites[i].f);
                        is_any = true;
                }
        if (r >= 0)
                r = query_end(q, reterr);
        if (r >= 0 && p.g.match.pattern)
                r = pattern_check(p.g.match.pattern, reterr);
        if (r >= 0 && !is_any)
                r = err_set(reterr, -ENOENT, "'%s': no call path contains such a function",
                            function);
        if (r >= 0)
                *ret = sum;
        map_done(&p.g.match.decided);
        pattern_free(p.g.match.pattern);
        free(p.stacks);
        return r < 0 ? r : 0;
}

struct query_tree *query_tree_answer(struct query *q, const struct query_answer *a,
                                     const struct query_tree_options *o) {
        struct query_tree *t = calloc(1, sizeof(*t));
        struct growing g;

        if (!t)
                abort();
        t->options = *o;
        growing_init(&g, q, a->sites, a->n_sites, o);
        grow_all(&g);
        grow_nodes(&g, t);
        growing_done(&g);
        return t;
}

struct query_tree *query_tree_free(struct query_tree *t) {
        if (!t)
                return NULL;
        query_answer_free(t->answer);
        free(t->nodes);
        free(t);
        return NULL;
}
