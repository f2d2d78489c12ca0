/* SPDX-License-Identifier: MIT */
/* Callers stand above what they called; a path that does not branch is one entry:
 *
 *      bytes    share   blocks  call path
 *    19.4 MiB   97.2 %  240,000  main → shop::serve
 *     9.9 MiB   49.6 %  199,999  ├ shop::Sessions::remember  order_server.cc:51  via std::vector::operator=
 *     9.5 MiB   47.6 %   40,001  └ shop::Sessions::remember  order_server.cc:49
 *   475.7 KiB    2.4 %   10,001  main → shop::Catalogue::load  order_server.cc:32
 *    80.3 KiB    0.4 %        6  … 69 more call paths, none above 3.1 KiB
 *
 * The figures are those of an entry's last function: whatever else its callers had is in the rest of the branching
 * above, so that the parts of every branching add up. */
#include "report/site_forest.h"
#include "show/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "show/chain.h"
#include "show/frame.h"
#include "show/stack_text.h"
#include "show/view.h"

enum {
        FOREST_WIDE = 110, /* width of the line from which on there are more columns */
        FOREST_MIN_NAME = 24,
        FOREST_MAX_ALIKE = 4096, /* paths that have as much as the last that is told */
        FOREST_MIN_LEAVES = 5,   /* so many are told even when small */
        FOREST_MAX_DEPTH = 5,    /* of branchings: below, each path is told for itself */
        FOREST_SPREAD_PCT = 50,  /* not told: then functions say more than paths */
        FOREST_ERROR_WIDTH = 9,  /* of the standard error, where there is one */
        FOREST_VIA_PCT = 5,      /* from this share on what was called gets a line of its own */
};

#define FOREST_MIN_SHARE 0.01   /* smaller ones are told only where --top asks for them */
#define FOREST_MOST_SHARE 0.99  /* what is left then is not worth being told by path */
#define FOREST_REST_SHARE 0.005 /* a smaller rest of a branching is not worth a line */

/* The end of a call path, and how much is there. */
struct leaf {
        const struct query_node *node;
        uint64_t weight;
};

/* One line of the picture to come. */
struct entry {
        const struct query_node *from; /* the branching above it */
        const struct query_node
                *end; /* the last call of its chain; NULL: the rest of the branching; the root: what
                                        * has no stack */
        uint32_t depth; /* branchings above it */
        bool is_last;
};

struct forest {
        const struct style *s;
        struct report *r;
        struct query_tree *t;
        uint64_t whole;
        size_t n_sites;          /* those that have something of the metric, the first of folded */
        VEC(struct leaf) leaves; /* most first */
        size_t n_told;           /* leaves that are told */
        uint64_t most_untold;    /* no other call path has more */
        bool *is_told;           /* by index of the node: it leads to a leaf that is told */
        uint32_t *parent_of;     /* by index of the node */
        size_t second_width;
        VEC(struct entry) todo; /* the next at the end */
        VEC(bool) goes_on;      /* for each branching above: whether more of its branches follow */
};

const char *site_forest_title(const struct report *r) {
        if (unit_weights() != UNIT_BYTES && r->metric != QUERY_GROWTH &&
            !query_metric_time(r->metric))
                return unit_weights() == UNIT_SAMPLES ? "Samples, by call path"
                       : unit_weights() == UNIT_NS    ? "Time, by call path"
                                                      : "Units, by call path";
        switch (r->metric) {
        case QUERY_PEAK: return "Live at the peak, by call path";
        case QUERY_END:
                return report_is_windowed(r) ? "Live at the end of the window, by call path"
                                             : "Still allocated at the end, by call path";
        case QUERY_ALLOCATED: return "Bytes allocated, by call path";
        case QUERY_COUNT: return "Allocations, by call path";
        case QUERY_TEMPORARY: return "Temporary allocations, by call path";
        case QUERY_GROWTH: return "Growth of live bytes, by call path";
        case QUERY_CPU: return "CPU time, by call path";
        case QUERY_BLOCKED: return "Time blocked, by call path";
        case QUERY_MAPPED: return "Mapped by the program itself, by call path";
        case QUERY_N_METRICS: break;
        }
        return "";
}

/* ---- choosing -------------------------------------------------------------------------------- */

static uint64_t weight_of(const struct forest *f, const struct query_figures *x) {
        int64_t value = query_figure_of(x, f->r->metric).value;

        return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int heavier_first(const void *a, const void *b) {
        const struct leaf *x = a, *y = b;

        if (x->weight != y->weight)
                return x->weight > y->weight ? -1 : 1;
        return x->node < y->node ? -1 : x->node > y->node;
}

/* Sorts leaves; how many of them are worth being told: those with their share, and a few more while most is untold. */
static size_t n_worth(struct forest *f, size_t most, double weight) {
        double told = 0;
        size_t n = 0;

        if (f->leaves.n > 1)
                qsort(f->leaves.items, f->leaves.n, sizeof(f->leaves.items[0]), heavier_first);
        while (n < f->leaves.n && n < most && f->leaves.items[n].weight &&
               (f->r->options->request->has_top ||
                (n < FOREST_MIN_LEAVES && told < FOREST_MOST_SHARE * weight) ||
                (double)f->leaves.items[n].weight >= FOREST_MIN_SHARE * weight))
                told += (double)f->leaves.items[n++].weight;
        if (n < f->leaves.n)
                f->most_untold = MAX(f->most_untold, f->leaves.items[n].weight);
        return n;
}

/* The least share that keeps all that is to be told: a tree of everything may be large. */
static double find_min_share(struct forest *f) {
        double sum = 0, share;
        size_t n;

        for (size_t i = 0; i < f->r->folded.n; i++) {
                struct query_site site = f->r->folded.items[i];
                uint64_t weight = weight_of(f, &site.f);

                if (!weight)
                        continue;
                f->r->folded.items[i] = f->r->folded.items[f->n_sites];
                f->r->folded.items[f->n_sites++] = site;
                vec_push(&f->leaves, (struct leaf){.weight = weight});
                sum += (double)weight;
        }
        n = n_worth(f, show_n_top(f->r->options), sum);
        share = n ? (double)f->leaves.items[n - 1].weight / sum : 1;
        vec_clear(&f->leaves);
        return share * (1 - 1e-9); /* rounding must not lose the last one */
}

static void choose_leaves(struct forest *f) {
        struct query_node *nodes = f->t->nodes;
        double weight = 0;

        for (size_t i = 0; i < f->t->n_nodes; i++) {
                weight += (double)weight_of(f, &nodes[i].self);
                if (!nodes[i].is_rest && (i == 0 || nodes[i].n_children == 0) &&
                    weight_of(f, &nodes[i].self))
                        vec_push(&f->leaves,
                                 (struct leaf){&nodes[i], weight_of(f, &nodes[i].self)});
                for (size_t k = 0; k < nodes[i].n_children; k++)
                        f->parent_of[nodes[i].children + k - nodes] = (uint32_t)i;
        }
        f->n_told = n_worth(f, show_n_top(f->r->options), weight);
        for (size_t i = 0; i < f->n_told; i++)
                f->is_told[f->leaves.items[i].node - nodes] = true;
        for (size_t i = f->t->n_nodes; i-- > 1;) /* children stand behind their parents */
                if (f->is_told[i] && f->parent_of[i])
                        f->is_told[f->parent_of[i]] = true;
}

/* ---- walking --------------------------------------------------------------------------------- */

static bool is_told(const struct forest *f, const struct query_node *n) {
        return f->is_told[n - f->t->nodes];
}

/* The one child that is told, or NULL: none or several. */
static const struct query_node *only_child(const struct forest *f, const struct query_node *n) {
        const struct query_node *only = NULL;

        for (size_t i = 0; i < n->n_children; i++) {
                if (!is_told(f, &n->children[i]))
                        continue;
                if (only)
                        return NULL;
                only = &n->children[i];
        }
        return only;
}

static const struct query_node *chain_end(const struct forest *f, const struct query_node *n) {
        for (const struct query_node *next; (next = only_child(f, n));)
                n = next;
        return n;
}

/* What of a branching is told by none of its entries. */
struct rest {
        int64_t value, second, third;
        uint64_t n_sites;
        double error; /* of a recording of samples; 0: not known, or none */
};

static int64_t second_of(const struct forest *f, const struct query_figures *x) {
        struct query_figure v = query_figure_of(x, f->r->metric);

        return metric_is_count(f->r->metric) ? v.bytes : v.blocks;
}

/* Calls fn for each entry of a branching, largest first. */
typedef void (*forest_end_fn)(struct forest *f, const struct query_node *end, void *ctx);

static bool is_below(const struct forest *f, const struct query_node *n,
                     const struct query_node *above) {
        while (n > above)
                n = &f->t->nodes[f->parent_of[n - f->t->nodes]];
        return n == above;
}

static void each_end(struct forest *f, const struct query_node *n, uint32_t depth, forest_end_fn fn,
                     void *ctx) {
        if (depth < FOREST_MAX_DEPTH) {
                for (size_t i = 0; i < n->n_children; i++)
                        if (is_told(f, &n->children[i]))
                                fn(f, chain_end(f, &n->children[i]), ctx);
        } else {
                for (size_t i = 0; i < f->n_told; i++)
                        if (f->leaves.items[i].node != n && is_below(f, f->leaves.items[i].node, n))
                                fn(f, f->leaves.items[i].node, ctx);
        }
        if (n == f->t->root && f->is_told[0])
                fn(f, n, ctx);
}

static void rest_take(struct forest *f, const struct query_node *end, void *ctx) {
        const struct query_figures *x = end == f->t->root ? &end->self : &end->total;
        struct rest *rest = ctx;

        rest->value -= query_figure_of(x, f->r->metric).value;
        rest->second -= second_of(f, x);
        rest->third -= (int64_t)x->n_allocs;
        rest->n_sites -= end == f->t->root ? 1 : end->n_sites;
}

static struct rest rest_of(struct forest *f, const struct query_node *n, uint32_t depth) {
        struct rest rest = {query_figure_of(&n->total, f->r->metric).value, second_of(f, &n->total),
                            (int64_t)n->total.n_allocs, n->n_sites};

        each_end(f, n, depth, rest_take, &rest);
        return rest;
}

static bool rest_is_told(const struct forest *f, const struct query_node *n,
                         const struct rest *rest) {
        double least = n == f->t->root ? 0 : FOREST_REST_SHARE * (double)f->whole;

        if (rest->n_sites == 0 || (rest->value == 0 && rest->second == 0))
                return false;
        return (double)rest->value >= least || (double)rest->value <= -least;
}

static void push_end(struct forest *f, const struct query_node *end, void *ctx) {
        struct entry *like = ctx;

        vec_push(&f->todo, (struct entry){like->from, end, like->depth, false});
}

/* Chains end below where they begin: their order is not that of the tree. */
static int larger_end_first(const void *a, const void *b, void *forest) {
        const struct entry *x = a, *y = b;
        const struct forest *f = forest;
        int64_t value_x = query_figure_of(&x->end->total, f->r->metric).value,
                value_y = query_figure_of(&y->end->total, f->r->metric).value;

        if (value_x != value_y && x->end != f->t->root && y->end != f->t->root)
                return value_x > value_y ? -1 : 1;
        if (x->end == f->t->root || y->end == f->t->root)
                return x->end == f->t->root ? 1 : -1;
        return x->end < y->end ? -1 : x->end > y->end;
}

/* The entries of a branching, the first of them at the end of the list. */
static void push_entries(struct forest *f, const struct query_node *n, uint32_t depth) {
        struct rest rest = rest_of(f, n, depth);
        size_t begin = f->todo.n;
        struct entry like = {n, NULL, depth, false};

        each_end(f, n, depth, push_end, &like);
        if (f->todo.n > begin + 1)
                qsort_r(&f->todo.items[begin], f->todo.n - begin, sizeof(f->todo.items[0]),
                        larger_end_first, f);
        if (rest_is_told(f, n, &rest))
                vec_push(&f->todo, like);
        if (f->todo.n == begin)
                return;
        f->todo.items[f->todo.n - 1].is_last = true;
        for (size_t i = begin, k = f->todo.n - 1; i < k; i++, k--) {
                like = f->todo.items[i];
                f->todo.items[i] = f->todo.items[k];
                f->todo.items[k] = like;
        }
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Bytes beside counts, blocks beside bytes where they were counted. */
static bool has_second(const struct forest *f) {
        return !report_site_answer(f->r)->totals.lacks_blocks;
}

static bool has_third(const struct forest *f) {
        return has_second(f) && f->s->width >= FOREST_WIDE && f->r->metric != QUERY_COUNT &&
               f->r->metric != QUERY_ALLOCATED && f->r->metric != QUERY_MAPPED;
}

static bool has_error(const struct forest *f) {
        return query_sample_bytes(f->r->q) != 0 && f->r->metric != QUERY_MAPPED;
}

static void add_error(const struct forest *f, const struct rest *x, struct str *to) {
        struct str error = {0};

        estimate_add_error(&error, x->error, (double)x->value, f->s->utf8);
        str_pad(to, ' ',
                FOREST_ERROR_WIDTH - MIN(str_width(str_text(&error)), (size_t)FOREST_ERROR_WIDTH));
        str_add(to, str_text(&error));
        str_done(&error);
}

static void add_figures(const struct forest *f, const struct rest *x, bool is_bold,
                        struct str *to) {
        struct unit_text t;
        int64_t second = x->second < 0 && !metric_is_count(f->r->metric) ? -x->second : x->second;

        str_addf(to, "%s%*s", is_bold ? f->s->bold : "", unit_weight_width(),
                 metric_text(f->r->metric, x->value, &t));
        if (f->whole)
                str_addf(to, " %5.1f %%", metric_share_pct(x->value, f->whole));
        if (has_error(f))
                add_error(f, x, to);
        str_add(to, is_bold ? f->s->plain : "");
        if (has_second(f))
                str_addf(to, "  %*s", (int)f->second_width,
                         metric_is_count(f->r->metric) ? unit_bytes(&t, (uint64_t)second)
                                                       : unit_count(&t, (uint64_t)second));
        if (has_third(f))
                str_addf(to, "  %12s", unit_count(&t, (uint64_t)MAX(x->third, 0)));
        str_add(to, "  ");
}

static size_t figures_width(const struct forest *f) {
        return (size_t)unit_weight_width() + (f->whole ? 8 : 0) +
               (has_error(f) ? FOREST_ERROR_WIDTH : 0) + (has_second(f) ? 2 + f->second_width : 0) +
               (has_third(f) ? 14 : 0) + 2;
}

/* The lines of the branches above, and the bend to this one. */
static void add_branches(const struct forest *f, const struct entry *e, bool is_first_line,
                         struct str *to) {
        const char *through = f->s->utf8 ? "│ " : "| ", *bend = f->s->utf8 ? "├ " : "+ ",
                   *last = f->s->utf8 ? "└ " : "` ";

        str_add(to, f->s->dim);
        for (uint32_t i = 0; i + 1 < e->depth; i++)
                str_add(to, f->goes_on.items[i + 1] ? through : "  ");
        if (e->depth)
                str_add(to, is_first_line ? (e->is_last ? last : bend)
                            : e->is_last  ? "  "
                                          : through);
        str_add(to, f->s->plain);
}

static size_t name_width(const struct forest *f, const struct entry *e) {
        size_t used = figures_width(f) + 2 * (size_t)e->depth;

        return MAX(f->s->width - MIN(f->s->width, used), (size_t)FOREST_MIN_NAME);
}

/* Where code without a line is: its file, unless that is the program itself, and the offset. */
static void add_offset(const struct forest *f, const struct name_frame *frame, struct str *to) {
        const struct trace_process *p = &report_process(f->r)->start;
        const char *module = frame_base(frame->module);

        if (!frame->module[0] || frame_is_unnamed(frame) || frame->offset >> 62)
                return; /* the last: made up where a source knows no address */
        if (strcmp(module, frame_base(p->exe)) != 0)
                style_add_clean(to, module);
        if (!query_metric_time(f->r->metric) &&
            !query_is_of_weights(f->r->frames.q)) /* of time the function is one, wherever it was */
                str_addf(to, "+0x%llx", (unsigned long long)frame->offset);
}

static void fill_chain(struct forest *f, const struct entry *e, struct chain *c) {
        const struct query_node *nodes = f->t->nodes;
        struct name_frame last = frame_of(&e->end->frame);
        VEC(uint32_t) path = {0};
        size_t n_unnamed = 0;
        struct name_frame above = frame_of(&e->from->frame);
        const char *module = frame_is_unnamed(&above) ? above.module : NULL;

        for (const struct query_node *n = e->end; n != e->from;
             n = &nodes[path.items[path.n - 1]]) {
                vec_push(&path, (uint32_t)(n - nodes));
                vec_push(&path, f->parent_of[n - nodes]);
        }
        for (size_t i = path.n; i > 0; i -= 2) {
                struct name_frame frame = frame_of(&nodes[path.items[i - 2]].frame);

                n_unnamed += frame_is_unnamed(&frame);
                frame_add_next(chain_next(c), &f->r->frames, &frame,
                               nodes[path.items[i - 2]].is_task, f->s->utf8, &module);
        }
        vec_free(&path);
        if (n_unnamed * 2 > c->names.n)
                c->max_lines = 1; /* addresses tell nobody anything: the ends will do */
        if (e->end->n_children)
                return;
        if (last.file[0])
                frame_add_place(&c->place, &last, false);
        else
                add_offset(f, &last, &c->place);
        c->place_must = last.file[0];
}

static void print_entry(struct forest *f, const struct entry *e) {
        bool is_leaf = e->end->n_children == 0 || e->end == f->t->root;
        const struct query_figures *x = e->end == f->t->root ? &e->end->self : &e->end->total;
        struct rest figures = {query_figure_of(x, f->r->metric).value, second_of(f, x),
                               (int64_t)x->n_allocs, 0, query_figures_error(x, f->r->metric)};
        struct chain c = {.s = f->s, .width = name_width(f, e), .max_lines = is_leaf ? 3 : 2};
        struct str line = {0};

        if (e->end == f->t->root)
                str_add(chain_next(&c), "(no stack)");
        else
                fill_chain(f, e, &c);
        if (is_leaf && e->end != f->t->root)
                stack_add_via(f->s, &f->r->frames, e->end->stack,
                              report_has_parts(f->r, e->end->stack), &c.note);
        c.note_must = metric_share_pct(figures.value, f->whole) >= FOREST_VIA_PCT;
        chain_lay_out(&c);
        for (size_t i = 0; i < c.lines.n; i++) {
                str_clear(&line);
                if (i == 0)
                        add_figures(f, &figures, is_leaf, &line);
                else
                        str_pad(&line, ' ', figures_width(f));
                add_branches(f, e, i == 0, &line);
                str_add(&line, str_text(&c.lines.items[i]));
                fprintf(f->s->out, "%s\n", str_text(&line));
        }
        chain_done(&c);
        str_done(&line);
}

static void print_rest(struct forest *f, const struct entry *e) {
        struct rest rest = rest_of(f, e->from, e->depth);
        struct str line = {0}, text = {0};
        struct unit_text t;

        add_figures(f, &rest, false, &line);
        add_branches(f, e, true, &line);
        str_addf(&text, "%s %s more call path%s", f->s->utf8 ? "…" : "..",
                 unit_count(&t, rest.n_sites), rest.n_sites == 1 ? "" : "s");
        if (e->from == f->t->root && rest.n_sites > 1 && f->most_untold &&
            (double)f->most_untold <= (double)rest.value)
                str_addf(&text, ", none above %s",
                         metric_is_count(f->r->metric) ? unit_count(&t, f->most_untold)
                                                       : unit_weight(&t, f->most_untold));
        str_add(&line, f->s->dim);
        style_add_cut(f->s, &line, str_text(&text), name_width(f, e));
        fprintf(f->s->out, "%s%s\n", str_text(&line), f->s->plain);
        str_done(&text);
        str_done(&line);
}

static const char *second_name(const struct forest *f) {
        return f->r->metric == QUERY_MAPPED ? "mappings" : "blocks";
}

static void print_heading(struct forest *f) {
        const struct query_totals *t = &report_site_answer(f->r)->totals;
        bool counts = metric_is_count(f->r->metric);
        uint64_t blocks = f->r->metric == QUERY_PEAK  ? t->peak_blocks
                          : f->r->metric == QUERY_END ? t->end_blocks
                                                      : t->n_allocs;
        struct unit_text a, b;
        struct str line = {0};

        f->second_width = counts ? 9 : MAX(strlen(unit_count(&a, blocks)), strlen(second_name(f)));
        style_heading(f->s, "%s (%s of %s)", site_forest_title(f->r), unit_count(&a, f->n_told),
                      unit_count(&b, f->n_sites));
        str_addf(&line, "%*s", unit_weight_width(),
                 has_error(f) ? counts ? "~count" : "~bytes"
                 : counts     ? "count"
                              : unit_weight_name());
        if (f->whole)
                str_addf(&line, " %7s", "share");
        if (has_error(f))
                str_addf(&line, "%*s", FOREST_ERROR_WIDTH, "+-error");
        if (has_second(f))
                str_addf(&line, "  %*s", (int)f->second_width, counts ? "bytes" : second_name(f));
        if (has_third(f))
                str_addf(&line, "  %12s", "allocations");
        fprintf(f->s->out, "%s%s  call path%s\n", f->s->dim, str_text(&line), f->s->plain);
        str_done(&line);
}

static void print_entries(struct forest *f) {
        push_entries(f, f->t->root, 0);
        while (f->todo.n) {
                struct entry e = f->todo.items[--f->todo.n];

                while (f->goes_on.n <= e.depth)
                        vec_push(&f->goes_on, false);
                f->goes_on.items[e.depth] = !e.is_last;
                if (!e.end) {
                        print_rest(f, &e);
                        continue;
                }
                print_entry(f, &e);
                if (e.end != f->t->root && e.end->n_children)
                        push_entries(f, e.end, e.depth + 1);
        }
}

/* Where most is in no path that stands out. */
static void print_hint(const struct forest *f) {
        double told = 0;

        for (size_t i = 0; i < f->n_told; i++)
                told += (double)f->leaves.items[i].weight;
        if (f->n_told < f->n_sites && told * 100 < (100 - FOREST_SPREAD_PCT) * (double)f->whole)
                fprintf(f->s->out,
                        "%sSpread over many paths: use --group-by function to sum them up.%s\n",
                        f->s->dim, f->s->plain);
}

void site_forest_print(const struct style *s, struct report *r) {
        struct query_tree_options o = {.kind = QUERY_TOP_DOWN,
                                       .merge = QUERY_MERGE_ASKER,
                                       .metric = r->metric,
                                       .max_alike = (uint32_t)MIN(MAX(show_n_top(r->options),
                                                                      (size_t)FOREST_MAX_ALIKE),
                                                                  (size_t)UINT32_MAX)};
        struct query_answer folded = *report_site_answer(r);
        struct forest f = {.s = s, .r = r, .whole = query_metric_whole(&folded.totals, r->metric)};

        o.min_share = find_min_share(&f);
        folded.sites = r->folded.items;
        folded.n_sites = f.n_sites;
        f.t = query_tree_answer(r->q, &folded, &o);
        f.is_told = calloc(f.t->n_nodes, sizeof(bool));
        f.parent_of = calloc(f.t->n_nodes, sizeof(uint32_t));
        if (!f.is_told || !f.parent_of)
                abort();
        choose_leaves(&f);
        if (f.n_told) {
                print_heading(&f);
                print_entries(&f);
                print_hint(&f);
        }
        vec_free(&f.leaves);
        vec_free(&f.todo);
        vec_free(&f.goes_on);
        free(f.is_told);
        free(f.parent_of);
        query_tree_free(f.t);
}
