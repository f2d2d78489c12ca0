/* SPDX-License-Identifier: MIT */
/* Asks the trace, or both, once, and makes the picture out of the answers. */
#include "flame/flame.h"

#include <errno.h>

#include "flame/flame_timeline.h"
#include "flame/flame_write.h"
#include "flame/process_parts.h"
#include "query/ages.h"
#include "show/opened.h"

/* One trace. */
struct side {
        struct opened opened; /* where it was opened here */
        struct query *q;
        struct show_options ask;
        struct request_resolved resolved;
        struct view view;
        struct query_answer *answer;
        struct parts parts; /* of the answer, by process; none: it is drawn as one */
};

struct asking {
        const struct flame_options *o;
        struct side sides[GRAPH_N_SIDES]; /* the newer first */
        size_t n_sides;
        bool by_line;
        struct text_pool texts;
        struct arena *arena; /* words */
        struct picture picture;
        struct timeline timeline;
};

static int ask_open(struct side *s, FILE *out, struct err *reterr) {
        int r = show_resolve(&s->ask, s->q, REQUEST_ALL, &s->resolved, reterr);

        if (r < 0)
                return r;
        view_init(&s->view, out, s->q, &s->ask, "");
        s->view.s.utf8 = true;
        r = query_ask(s->q, &s->view.scope, &s->answer, reterr);
        if (r >= 0) {
                s->view.answer = s->answer;
                s->view.scope = s->answer->scope;
        }
        return r;
}

static int ask_side(struct side *s, const char *path, const struct flame_options *o, FILE *out,
                    struct err *reterr) {
        int r = opened_init(&s->opened, path, &o->ask.request->rules, reterr);

        s->ask = o->ask;
        s->ask.path = path;
        s->q = s->opened.q;
        if (r >= 0)
                r = ask_open(s, out, reterr);
        opened_end_progress(&s->opened);
        return r;
}

/* Sites without any of the metric make most of a tree's shape and none of the picture. */
static void keep_sites(struct query_answer *a, const struct query_answer *all,
                       enum query_metric m) {
        *a = *all;
        a->n_sites = 0;
        a->sites = calloc(all->n_sites + 1, sizeof(a->sites[0]));
        if (!a->sites)
                abort();
        for (size_t i = 0; i < all->n_sites; i++)
                if (query_figure_of(&all->sites[i].f, m).value != 0)
                        a->sites[a->n_sites++] = all->sites[i];
}

/* How a picture is asked for. */
struct drawn {
        enum query_metric metric;
        bool is_reversed, with_lines;
        double min_share;
};

static struct query_tree *tree_of(const struct asking *k, struct side *s,
                                  const struct query_answer *answer, const struct drawn *d) {
        /* of two traces a frame may be small in one of them: what is cut off there must not look new here */
        const struct query_tree_options t = {
                .kind = d->is_reversed ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN,
                .merge = k->by_line ? QUERY_MERGE_LINE : QUERY_MERGE_FUNCTION,
                .metric = d->metric,
                .is_full = k->o->ask.request->full,
                .with_lines = d->with_lines,
                .min_share = k->n_sides > 1 ? d->min_share / 10 : d->min_share,
                .max_depth = FLAME_MAX_DEPTH};
        struct query_answer some;
        struct query_tree *tree;

        keep_sites(&some, answer, d->metric);
        tree = query_tree_answer(s->q, &some, &t);
        free(some.sites);
        return tree;
}

typedef VEC(struct graph_part) part_vec;

/* The trees of one side: of all, or a row of processes and theirs below. Reversed, the code that asked stands on top,
 * whoever ran it. */
static void grow_parts(const struct asking *k, struct side *s, const struct drawn *d,
                       part_vec *ret) {
        if (d->is_reversed || s->parts.items.n == 0) {
                vec_push(ret, (struct graph_part){tree_of(k, s, s->answer, d), NULL, NULL, 0});
                return;
        }
        for (size_t i = 0; i < s->parts.items.n; i++) {
                const struct part *p = &s->parts.items.items[i];

                vec_push(ret, (struct graph_part){tree_of(k, s, p->answer, d), p->name, p->place,
                                                  p->pid});
        }
}

static size_t n_max_boxes(const struct asking *k) {
        return k->o->n_max_boxes ? k->o->n_max_boxes : FLAME_MAX_FRAMES;
}

static void make_graph(struct asking *k, struct graph *g, const struct drawn *d) {
        struct graph_source of[GRAPH_N_SIDES] = {0};
        part_vec parts[GRAPH_N_SIDES] = {0};

        for (size_t i = 0; i < k->n_sides; i++) {
                k->sides[i].view.metric = d->metric;
                grow_parts(k, &k->sides[i], d, &parts[i]);
                of[i] = (struct graph_source){&k->sides[i].view, parts[i].items, parts[i].n,
                                              k->by_line};
        }
        graph_make(g, of, k->n_sides, &(struct graph_bounds){d->min_share, n_max_boxes(k)},
                   &k->texts);
        for (size_t i = 0; i < k->n_sides; i++) {
                for (size_t n = 0; n < parts[i].n; n++)
                        query_tree_free((struct query_tree *)parts[i].items[n].tree);
                vec_free(&parts[i]);
        }
}

/* Few calls, and much room below them: which lines asked is worth seeing. */
static bool is_shallow(const struct graph *g) {
        double visible = 0.01 * g->frames.items[0].width;
        size_t n_visible = 0;

        for (size_t i = 0; i < g->frames.n; i++)
                n_visible += g->frames.items[i].width >= visible;
        return !g->is_reversed && !g->has_old && n_visible > 1 &&
               n_visible <= FLAME_SHALLOW_FRAMES &&
               graph_last_row(g, visible) <= FLAME_SHALLOW_DEPTH;
}

static void make_picture(struct asking *k) {
        struct picture *p = &k->picture;
        double share_pct = k->o->ask.request->min_share_pct;
        struct words_source says[GRAPH_N_SIDES] = {0};
        struct drawn d = {.metric = k->sides[0].view.metric,
                          .is_reversed = k->o->is_reversed,
                          .min_share = share_pct >= 0 ? share_pct / 100 : FLAME_MIN_SHARE};

        /* somebody who wants more boxes than a picture has wants the narrow ones */
        if (share_pct < 0 && n_max_boxes(k) > FLAME_MAX_FRAMES)
                d.min_share = 0;
        make_graph(k, &p->graph, &d);
        if (!k->by_line && is_shallow(&p->graph)) {
                graph_done(&p->graph);
                d.with_lines = true;
                make_graph(k, &p->graph, &d);
        }
        for (size_t i = 0; i < k->n_sides; i++)
                says[i] = (struct words_source){&k->sides[i].view, k->sides[i].answer,
                                                k->sides[i].ask.path};
        words_find(&p->words, &p->graph, says, k->o, k->arena);
}

static void asking_done(struct asking *k) {
        graph_done(&k->picture.graph);
        for (size_t i = 0; i < k->n_sides; i++) {
                parts_done(&k->sides[i].parts);
                query_answer_free(k->sides[i].answer);
                request_resolved_done(&k->sides[i].resolved);
                opened_done(&k->sides[i].opened);
        }
        text_pool_done(&k->texts);
        arena_free(k->arena);
}

static int check_sites(const struct asking *k, struct err *reterr) {
        if (k->n_sides == 1 || k->sides[GRAPH_OLD].q == k->sides[GRAPH_NEW].q ||
            !query_filter_has_sites(k->sides[GRAPH_NEW].ask.request->filter))
                return 0;
        return err_about(
                reterr, "site",
                err_set(reterr, -EINVAL,
                        "numbers of call paths are those of one trace: use function or asked-by"));
}

/* Of two traces, both have the row of processes or none. */
static int ask_parts(struct asking *k, struct err *reterr) {
        size_t most = 0;
        int r = check_sites(k, reterr);

        for (size_t i = 0; i < k->n_sides; i++)
                most = MAX(most, parts_count(&k->sides[i].view, k->sides[i].answer));
        for (size_t i = 0; r >= 0 && most > 1 && i < k->n_sides; i++)
                if (k->sides[i].view.scope.process == QUERY_ALL)
                        r = parts_ask(&k->sides[i].parts, &k->sides[i].view, k->sides[i].answer,
                                      k->arena, reterr);
        return r;
}

int flame_draw(FILE *out, const struct flame_options *o, struct flame_result *ret,
               struct err *reterr) {
        struct asking k = {.o = o, .arena = arena_new()};
        struct str text = {0};
        int r;

        text_pool_init(&k.texts);
        k.n_sides = 1;
        r = ask_side(&k.sides[GRAPH_NEW], o->ask.path, o, out, reterr);
        if (r >= 0 && o->old_path) {
                k.n_sides = 2;
                r = ask_side(&k.sides[GRAPH_OLD], o->old_path, o, out, reterr);
        }
        if (r >= 0)
                r = ask_parts(&k, reterr);
        for (size_t i = 0; r >= 0 && i < k.n_sides; i++)
                timeline_ask(&k.timeline, &k.sides[i].view, i);
        if (r >= 0) {
                make_picture(&k);
                ret->n_frames = k.picture.graph.frames.n - 1;
                write_svg(&text, &k.picture, &k.timeline, o);
                if (fwrite(text.bytes, 1, text.n, out) != text.n)
                        r = err_set_errno(reterr, errno ? -errno : -EIO,
                                          "cannot write the picture");
        }
        str_done(&text);
        asking_done(&k);
        return r;
}

/* ---- for programs ----------------------------------------------------------------------------------- */

/* What ages are asked of: a part's processes, or with pid 0 those that no other part has. */
struct aged_part {
        const struct side *side;
        uint32_t pid;
};

static bool is_of_part(void *ctx, uint32_t process) {
        const struct aged_part *of = ctx;
        uint32_t pid = of->side->view.v->processes[process].start.pid;

        if (of->pid)
                return pid == of->pid;
        for (size_t i = 0; i < of->side->parts.items.n; i++)
                if (of->side->parts.items.items[i].pid == pid)
                        return false;
        return true;
}

static int ask_ages(struct side *s, struct err *reterr) {
        _cleanup_(query_ages_freep) struct query_ages *ages = NULL;
        int r = query_ages(s->q, &s->answer->scope, s->view.metric, &ages, reterr);

        if (r < 0)
                return r;
        query_ages_put(ages, s->answer, NULL, NULL);
        for (size_t i = 0; i < s->parts.items.n; i++) {
                struct aged_part of = {s, s->parts.items.items[i].pid};

                query_ages_put(ages, s->parts.items.items[i].answer, is_of_part, &of);
        }
        return 0;
}

int flame_write(FILE *out, const struct flame_source *of, size_t n, const struct flame_boxes *boxes,
                struct err *reterr) {
        struct flame_options o = {.ask = {.request = of[0].request},
                                  .is_reversed = boxes->is_reversed,
                                  .n_max_boxes = boxes->n_max_boxes};
        struct asking k = {.o = &o,
                           .arena = arena_new(),
                           .n_sides = n,
                           .by_line = boxes->by_line && n == 1};
        int r = 0;

        text_pool_init(&k.texts);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                k.sides[i].q = of[i].q;
                k.sides[i].ask = (struct show_options){.path = of[i].path,
                                                       .request = of[i].request,
                                                       .json = true};
                r = ask_open(&k.sides[i], out, reterr);
        }
        if (r >= 0)
                r = ask_parts(&k, reterr);
        if (r >= 0 && boxes->with_ages && n == 1 && query_metric_has_ages(k.sides[0].view.metric))
                r = ask_ages(&k.sides[0], reterr);
        if (r >= 0) {
                make_picture(&k);
                write_json(out, &k.picture, &k.sides[0].view, k.sides[0].answer, boxes->with_ages);
        }
        asking_done(&k);
        return r;
}
