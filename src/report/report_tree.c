/* SPDX-License-Identifier: MIT */
/* Call paths as a tree: text, or JSON (schema silt.tree/1). A chain of calls that does not branch is one block, so that
 * depth on the page follows decisions, not calls. */
#include <string.h>

#include "base/vec.h"
#include "report/gather.h"
#include "show/frame.h"
#include "show/show_json.h"
#include "show/view.h"

enum {
        TREE_TOTAL_WIDTH = 20, /* total and share, at the left of each line */
        TREE_SELF_WIDTH = 11,  /* inwards: what the function itself asked for */
        TREE_MIN_NAME_WIDTH = 24,
        TREE_MAX_BRANCHES = 40,  /* drawn beside each other; of deeper ones only the innermost */
        TREE_LEFT_OUT_WIDTH = 6, /* "…123 ", instead of those before */
        TREE_CHAIN_LINES = 4,    /* of a chain; what is between its ends is left out */
};

#define TREE_MIN_SHARE 0.01
#define TREE_NOTHING_SHARE 0.001 /* a rest or a self below it is not worth a line */

/* ---- walking: a list instead of recursion, stacks may be thousands of frames deep -------------- */

struct place {
        const struct query_node *node;
        uint32_t depth; /* branchings above it */
        bool is_last;   /* of its parent's children */
};

struct walk {
        VEC(struct place) todo; /* the next at the end */
};

static void walk_push(struct walk *w, const struct query_node *n, size_t n_children,
                      uint32_t depth) {
        for (size_t i = n_children; i-- > 0;)
                vec_push(&w->todo, (struct place){&n->children[i], depth, i + 1 == n_children});
}

/* ---- text ------------------------------------------------------------------------------------ */

struct drawing {
        const struct view *v;
        const struct query_tree *t;
        uint64_t whole;
        VEC(bool) goes_on; /* for each branching above: whether more of its branches follow */
};

static int64_t value_of(const struct drawing *d, const struct query_figures *f) {
        return query_figure_of(f, d->v->metric).value;
}

static bool is_inwards(const struct query_tree *t) {
        return t->options.kind == QUERY_TOP_DOWN || t->options.kind == QUERY_CALLEES;
}

static void add_figures(const struct drawing *d, const struct query_node *n, struct str *to) {
        struct unit_text t;

        str_addf(to, "%*s ", unit_weight_width(),
                 metric_text(d->v->metric, value_of(d, &n->total), &t));
        if (d->whole)
                str_addf(to, "%5.1f %%", metric_share_pct(value_of(d, &n->total), d->whole));
        else
                str_pad(to, ' ', 7);
        if (is_inwards(d->t) && value_of(d, &n->self) != 0 && !n->is_rest)
                str_addf(to, "%*s", TREE_SELF_WIDTH,
                         metric_text(d->v->metric, value_of(d, &n->self), &t));
        else if (is_inwards(d->t))
                str_pad(to, ' ', TREE_SELF_WIDTH);
        str_add(to, "  ");
}

static size_t figures_width(const struct drawing *d) {
        return TREE_TOTAL_WIDTH + (size_t)unit_weight_width() - 10 +
               (is_inwards(d->t) ? TREE_SELF_WIDTH : 0);
}

/* Branches that are drawn, so that a name has room beside them. */
static uint32_t n_drawn(const struct drawing *d, uint32_t depth) {
        size_t taken = figures_width(d) + TREE_LEFT_OUT_WIDTH + TREE_MIN_NAME_WIDTH;
        size_t room = (d->v->s.width - MIN(d->v->s.width, taken)) / 2;

        return (uint32_t)MIN((size_t)depth, MIN(MAX(room, 1u), (size_t)TREE_MAX_BRANCHES));
}

static size_t branches_width(const struct drawing *d, uint32_t depth) {
        uint32_t n = n_drawn(d, depth);

        return 2 * (size_t)n + (depth > n ? TREE_LEFT_OUT_WIDTH : 0);
}

/* The lines of the branches above, and the bend to this one. */
static void add_branches(const struct drawing *d, uint32_t depth, bool is_first_line, bool is_last,
                         struct str *to) {
        const char *through = d->v->s.utf8 ? "│ " : "| ", *bend = d->v->s.utf8 ? "├ " : "+ ",
                   *last = d->v->s.utf8 ? "└ " : "` ";
        uint32_t first = depth - n_drawn(d, depth);

        str_add(to, d->v->s.dim);
        if (first)
                str_addf(to, "%s%-*u ", d->v->s.utf8 ? "…" : "..",
                         TREE_LEFT_OUT_WIDTH - (d->v->s.utf8 ? 2 : 3), first);
        for (uint32_t i = first; i + 1 < depth; i++)
                str_add(to, d->goes_on.items[i + 1] ? through : "  ");
        if (depth)
                str_add(to, is_first_line ? (is_last ? last : bend) : is_last ? "  " : through);
        str_add(to, d->v->s.plain);
}

static bool is_nothing(const struct drawing *d, int64_t value) {
        double least = d->v->o->request->full ? 0 : TREE_NOTHING_SHARE * (double)d->whole;

        return value == 0 || ((double)value < least && (double)value > -least);
}

static size_t n_shown_children(const struct drawing *d, const struct query_node *n) {
        size_t count = n->n_children;

        return count && n->children[count - 1].is_rest &&
                               is_nothing(d, value_of(d, &n->children[count - 1].total))
                       ? count - 1
                       : count;
}

/* The end of the chain that begins with n: as long as all of it goes on into one child. */
static const struct query_node *chain_end(const struct drawing *d, const struct query_node *n) {
        while (!d->v->o->request->full && n_shown_children(d, n) == 1 && !n->children[0].is_rest &&
               is_nothing(d, value_of(d, &n->self)))
                n = &n->children[0];
        return n;
}

/* One line of a chain: names with arrows between them, as many as fit, at least one. The next one; NULL: all told. */
static const struct query_node *print_chain_line(const struct drawing *d,
                                                 const struct query_node *n,
                                                 const struct query_node *end, size_t width,
                                                 struct str *to) {
        const char *arrow =
                d->v->s.utf8 ? (is_inwards(d->t) ? "→" : "←") : (is_inwards(d->t) ? ">" : "<");
        const char *module = NULL; /* named at the beginning of each line */
        size_t used = 0;

        for (;; n = &n->children[0]) {
                struct name_frame f = frame_of(&n->frame);
                struct str name = {0};
                size_t have;

                if (d->v->o->request->full)
                        view_add_name(d->v, &n->frame, n->is_task, &name);
                else
                        frame_add_next(&name, &d->v->frames, &f, n->is_task, d->v->s.utf8, &module);
                have = str_width(str_text(&name));
                if (used && used + 1 + have + 2 > width) {
                        str_done(&name);
                        return n;
                }
                str_add(to, used ? " " : "");
                style_add_cut(&d->v->s, to, str_text(&name),
                              d->v->o->request->full ? SIZE_MAX : width - 2);
                used += MIN(have, width - 2) + (used ? 1 : 0);
                str_done(&name);
                if (n == end)
                        return NULL;
                str_addf(to, " %s%s%s", d->v->s.dim, arrow, d->v->s.plain);
                used += 2;
        }
}

static size_t chain_length(const struct query_node *n, const struct query_node *end) {
        size_t length = 1;

        for (; n != end; n = &n->children[0])
                length++;
        return length;
}

static void print_place(const struct drawing *d, const struct query_node *end, struct str *line) {
        struct str place = {0};

        view_add_place(d->v, &end->frame, &place);
        if (place.n && str_width(str_text(line)) + 2 + str_width(str_text(&place)) <=
                               d->v->s.width + strlen(d->v->s.dim) + strlen(d->v->s.plain))
                str_addf(line, "  %s%s%s", d->v->s.dim, str_text(&place), d->v->s.plain);
        str_done(&place);
}

static void print_chain(const struct drawing *d, const struct place *p,
                        const struct query_node *end) {
        const struct query_node *n = p->node;
        size_t indent = figures_width(d) + branches_width(d, p->depth);
        size_t width = MAX(d->v->s.width - MIN(d->v->s.width, indent), (size_t)TREE_MIN_NAME_WIDTH);
        struct query_node both = *end;

        both.total = p->node->total;
        for (unsigned i = 0; n; i++) {
                struct str line = {0};
                size_t left = chain_length(n, end);

                if (i == 0)
                        add_figures(d, &both, &line);
                else
                        str_pad(&line, ' ', figures_width(d));
                add_branches(d, p->depth, i == 0, p->is_last, &line);
                if (i == TREE_CHAIN_LINES - 2 &&
                    left > 3) { /* the last call is the one that matters */
                        str_addf(&line, "%s%s %zu more %s%s", d->v->s.dim,
                                 d->v->s.utf8 ? "…" : "..", left - 1, d->v->s.utf8 ? "…" : "..",
                                 d->v->s.plain);
                        n = end;
                } else {
                        n = print_chain_line(d, n, end, width, &line);
                }
                if (!n)
                        print_place(d, end, &line);
                fprintf(d->v->out, "%s\n", str_text(&line));
                str_done(&line);
        }
}

static void print_rest(const struct drawing *d, const struct place *p) {
        size_t indent = figures_width(d) + branches_width(d, p->depth);
        struct str line = {0}, more = {0}, under = {0};
        struct unit_text t;

        add_figures(d, p->node, &line);
        add_branches(d, p->depth, true, p->is_last, &line);
        str_addf(&more, "%s %s more", d->v->s.utf8 ? "…" : "..", unit_count(&t, p->node->n_rest));
        if (d->t->options.min_share > 0 && !d->t->options.max_depth)
                str_addf(&under, ", each under %g %%", d->t->options.min_share * 100);
        if (indent + str_width(str_text(&more)) + under.n <= d->v->s.width)
                str_add(&more, str_text(&under));
        fprintf(d->v->out, "%s%s%s%s\n", str_text(&line), d->v->s.dim, str_text(&more),
                d->v->s.plain);
        str_done(&line);
        str_done(&more);
        str_done(&under);
}

static void print_nodes(struct drawing *d) {
        struct walk w = {0};

        walk_push(&w, d->t->root, n_shown_children(d, d->t->root), 0);
        vec_push(&d->goes_on, false);
        while (w.todo.n) {
                struct place p = w.todo.items[--w.todo.n];
                const struct query_node *end;

                while (d->goes_on.n <= p.depth)
                        vec_push(&d->goes_on, false);
                d->goes_on.items[p.depth] = !p.is_last;
                if (p.node->is_rest) {
                        print_rest(d, &p);
                        continue;
                }
                end = chain_end(d, p.node);
                print_chain(d, &p, end);
                walk_push(&w, end, n_shown_children(d, end), p.depth + 1);
        }
        vec_free(&w.todo);
        vec_free(&d->goes_on);
}

/* ---- the first sentence ---------------------------------------------------------------------- */

/* Where the largest part goes: down the tree while one child has more than half of its parent. */
static const struct query_node *main_branch(const struct drawing *d) {
        const struct query_node *n = d->t->root;

        while (n->n_children && !n->children[0].is_rest &&
               value_of(d, &n->children[0].total) > value_of(d, &n->total) / 2)
                n = &n->children[0];
        return n;
}

/* "; 80 % of it called from f" or "through f". */
static void add_next(const struct drawing *d, const struct query_node *n, struct str *to) {
        const struct query_node *next = n->n_children ? &n->children[0] : NULL;
        int64_t value = value_of(d, &n->total);

        if (!next || next->is_rest || value <= 0 || value_of(d, &next->total) <= 0)
                return;
        str_addf(to, "; %.0f %% of it %s ",
                 metric_share_pct(value_of(d, &next->total), (uint64_t)value),
                 is_inwards(d->t) ? "through" : "called from");
        view_add_name(d->v, &next->frame, next->is_task, to);
}

static void add_part(const struct drawing *d, const char *verb, const struct query_node *n,
                     struct str *to) {
        str_addf(to, " %s ", verb);
        view_add_part(d->v, value_of(d, &n->total), &d->t->answer->totals, to);
}

static void add_function_sentence(const struct drawing *d, struct str *to) {
        const struct query_node *root = d->t->root, *first = &root->children[0];
        bool is_one = d->t->n_functions == 1 && root->n_children && !first->is_rest;

        if (is_one)
                view_add_name(d->v, &first->frame, false, to);
        else
                str_addf(to, "%zu functions that match '%s'", d->t->n_functions,
                         d->t->options.function);
        str_addf(to, " %s on call paths that", is_one ? "is" : "are");
        add_part(d, view_verb(d->v), root, to);
        if (is_one)
                add_next(d, first, to);
}

static void add_path_sentence(const struct drawing *d, struct str *to) {
        const struct query_node *n = is_inwards(d->t) ? main_branch(d) : d->t->root;

        if (!is_inwards(d->t) && n->n_children && !n->children[0].is_rest)
                n = &n->children[0];
        if (n == d->t->root) {
                if (query_metric_whole(&d->t->answer->totals, d->v->metric)) {
                        str_add(to, "No single path has half of the ");
                        view_add_whole(d->v, &d->t->answer->totals, to);
                } else {
                        str_add(to, "Some paths grew, and others shrank by more");
                }
                str_add(to, ": see the branches below");
                return;
        }
        view_add_name(d->v, &n->frame, n->is_task, to);
        if (is_inwards(d->t) && n->n_children)
                str_add(to, " and its callees");
        add_part(d, view_verb(d->v), n, to);
        if (!is_inwards(d->t) || n->n_children)
                add_next(d, n, to);
}

static void print_first(const struct drawing *d) {
        struct str text = {0};

        if (value_of(d, &d->t->root->total) == 0) {
                view_add_nothing(d->v, d->t->answer, &text);
        } else if (d->t->options.function) {
                add_function_sentence(d, &text);
        } else {
                add_path_sentence(d, &text);
        }
        if (value_of(d, &d->t->root->total) != 0)
                str_add(&text, ".");
        view_print_first(d->v, &text);
        str_done(&text);
}

static void print_text(const struct view *v, const struct query_tree *t) {
        static const char *const titles[] = {"From the start of the program down",
                                             "From the allocating code up", "Who called it",
                                             "What it called"};
        struct drawing d = {.v = v,
                            .t = t,
                            .whole = query_metric_whole(&t->answer->totals, v->metric)};
        struct str what = {0};

        print_first(&d);
        if (t->root->n_children == 0) {
                view_print_doubts(v, t->answer);
                return;
        }
        if (v->metric == QUERY_GROWTH)
                str_add(&what, "growth of live bytes");
        else if (v->scope.of_time)
                str_add(&what, v->metric == QUERY_CPU ? "CPU time" : "time blocked");
        else
                view_add_state(v, &what);
        style_heading(&v->s, "%s: %s",
                      v->scope.of_time && t->options.kind == QUERY_BOTTOM_UP
                              ? "From where the time went up"
                              : titles[t->options.kind],
                      str_text(&what));
        fprintf(v->out, "%s%10s%s%s\n", v->s.dim, "total",
                is_inwards(t) ? "             itself" : "", v->s.plain);
        print_nodes(&d);
        view_print_doubts(v, t->answer);
        str_done(&what);
}

static void put_json(struct view *v, const struct query_tree *t) {
        view_begin(v);
        show_put_answer(&v->j, v->q, t->answer, v->metric);
        show_put_tree(&v->j, v->q, t);
        view_end(v);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum query_tree_kind kind_of(enum request_shape shape) {
        return shape == REQUEST_CALLERS     ? QUERY_CALLERS
               : shape == REQUEST_CALLEES   ? QUERY_CALLEES
               : shape == REQUEST_BOTTOM_UP ? QUERY_BOTTOM_UP
                                            : QUERY_TOP_DOWN;
}

int report_tree(FILE *out, struct query *q, const struct show_options *o, struct err *reterr) {
        const struct request *asked = o->request;
        struct query_tree_options tree = {
                .kind = kind_of(asked->shape),
                .is_full = asked->full,
                .min_share = asked->full                 ? 0
                             : asked->min_share_pct >= 0 ? asked->min_share_pct / 100
                                                         : TREE_MIN_SHARE,
                .max_depth = asked->max_depth,
                .function = asked->function,
        };
        _cleanup_(query_tree_freep) struct query_tree *t = NULL;
        struct view v;
        int r;

        view_init(&v, out, q, o, "silt.tree/1");
        tree.metric = v.metric;
        r = query_tree(q, &v.scope, &tree, &t, reterr);
        if (r < 0)
                return r;
        v.answer = t->answer;
        v.scope = t->answer->scope;
        if (o->json)
                put_json(&v, t);
        else
                print_text(&v, t);
        return 0;
}
