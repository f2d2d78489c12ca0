/* SPDX-License-Identifier: MIT */
#include "flame/flame_words.h"

#include <string.h>

#include "query/spent_time.h"
#include "query/trace_times.h"
#include "show/frame.h"
#include "show/process_holders.h"

/* ---- figures ----------------------------------------------------------------------------------- */

static const char *value_text(enum query_metric m, int64_t value, struct unit_text *t) {
        return metric_text(m, value, t);
}

static const char *change_text(enum query_metric m, int64_t change, struct unit_text *t) {
        struct unit_text plain;

        if (!metric_is_count(m))
                return unit_weight_signed(t, change);
        unit_count(&plain, change < 0 ? 0 - (uint64_t)change : (uint64_t)change);
        snprintf(t->s, sizeof(t->s), "%c%.38s", change < 0 ? '-' : '+', plain.s);
        return t->s;
}

static void add_figure(struct str *to, enum query_metric m, const struct graph_figure *f) {
        struct unit_text t;

        str_add(to, value_text(m, f->value, &t));
        if (query_metric_time(m))
                str_addf(to, " in %s sample%s", unit_count(&t, (uint64_t)f->beside),
                         unit_s((uint64_t)f->beside));
        if (f->lacks_blocks)
                return;
        if (m == QUERY_TEMPORARY)
                str_addf(to, " temporary allocation%s", unit_s((uint64_t)f->value));
        else if (m == QUERY_COUNT)
                str_addf(to, " allocation%s of %s", unit_s((uint64_t)f->value),
                         unit_bytes(&t, (uint64_t)f->beside));
        else if (m == QUERY_GROWTH)
                str_addf(to, " in %s%s block%s", f->beside < 0 ? "-" : "+",
                         unit_count(&t,
                                    f->beside < 0 ? 0 - (uint64_t)f->beside : (uint64_t)f->beside),
                         f->beside == 1 || f->beside == -1 ? "" : "s");
        else
                str_addf(to, " in %s %s%s", unit_count(&t, (uint64_t)f->beside),
                         m == QUERY_ALLOCATED ? "allocation"
                         : m == QUERY_MAPPED  ? "mapping"
                                              : "block",
                         unit_s((uint64_t)f->beside));
}

/* " (+12 %)", " (-0.4 %)" */
static void add_relative(struct str *to, int64_t change, int64_t was) {
        double pct = 100.0 * (double)change / (double)was;

        str_addf(to, " (%+.*f %%)", pct < 10 && pct > -10, pct);
}

static void add_change(struct str *to, const struct graph *g, const struct graph_frame *f) {
        struct unit_text a, b, c;
        int64_t change = graph_change(g, f);

        str_addf(to, "%s, was %s", value_text(g->metric, f->is.value, &a),
                 value_text(g->metric, f->was.value, &b));
        if (change == 0)
                str_add(to, ": the same");
        else
                str_addf(to, ": %s", change_text(g->metric, change, &c));
        if (change != 0 && f->was.value > 0)
                add_relative(to, change, f->was.value);
}

void words_add_figures(struct str *to, const struct graph *g, const struct graph_frame *f) {
        if (g->has_old)
                add_change(to, g, f);
        else
                add_figure(to, g->metric, &f->is);
}

void words_add_brief(struct str *to, const struct graph *g, const struct graph_frame *f) {
        int64_t change = graph_change(g, f);
        struct unit_text t;

        if (!g->has_old) {
                double whole = g->frames.items[0].width;
                double pct = whole > 0 ? graph_pct(f->width / whole) : 0;

                str_add(to, value_text(g->metric, f->is.value, &t));
                if (g->metric != QUERY_GROWTH)
                        str_addf(to, ", %.*f %%", pct < 9.95, pct);
        } else if (f->was.value == 0 && f->is.value > 0) {
                str_addf(to, "new, %s", value_text(g->metric, f->is.value, &t));
        } else if (f->is.value == 0 && f->was.value > 0) {
                str_addf(to, "gone, was %s", value_text(g->metric, f->was.value, &t));
        } else if (change != 0) {
                str_add(to, change_text(g->metric, change, &t));
                if (f->was.value > 0)
                        str_addf(to, ", %+.*f %%",
                                 100.0 * (double)change / (double)f->was.value < 9.95 &&
                                         100.0 * (double)change / (double)f->was.value > -9.95,
                                 100.0 * (double)change / (double)f->was.value);
        }
}

static void add_share(struct str *to, double part, double whole) {
        if (whole > 0)
                str_addf(to, "%.1f %%", 100 * part / whole);
}

void words_add_frame(struct str *to, const struct graph *g, const struct graph_frame *f) {
        const struct graph_frame *root = &g->frames.items[0], *parent = &g->frames.items[f->parent];
        struct unit_text t;

        if (f->is_rest)
                str_addf(to, "%s more", unit_count(&t, f->n_rest));
        else
                str_add(to, g->texts->items.items[f->name]);
        str_add(to, "\n");
        words_add_figures(to, g, f);
        if (f->depth > 0 && !graph_is_change(g)) {
                str_add(to, "\n");
                add_share(to, f->width, root->width);
                str_add(to, " of all");
        }
        if (f->depth > 1 && !graph_is_change(g)) {
                str_add(to, ", ");
                add_share(to, f->width, parent->width);
                str_add(to, " of the frame above");
        }
        if (f->place)
                str_addf(to, "\n%s%s", g->texts->items.items[f->place],
                         f->is_inlined ? ", inlined" : "");
}

/* ---- the first sentence ------------------------------------------------------------------------ */

static const char *program_name(const struct view *v) {
        uint32_t process =
                v->scope.process == QUERY_ALL ? holder_process(v->q, v->answer) : v->scope.process;

        const char *name = process < v->v->n_processes ? query_process_name(v->q, process) : "";

        return name[0] ? name : "the program";
}

static void add_program(const struct view *v, struct str *to) {
        if (!holder_add_crowd(v->q, v->answer, to))
                style_add_clean(to, program_name(v));
}

static const struct graph_frame *first_child(const struct graph *g, const struct graph_frame *f) {
        const struct graph_frame *child = &g->frames.items[f->first_child];

        return f->n_children && !child->is_rest ? child : NULL;
}

/* The frame itself, or the nearest above it that is known and does more than pass requests on; where there is none, itself again. */
static const struct graph_frame *named_above(const struct graph *g, const struct graph_frame *f) {
        const struct graph_frame *named = f;

        while ((named->is_unnamed || named->is_helper || named->is_line) && named->depth)
                named = &g->frames.items[named->parent];
        return named->depth && !named->is_process ? named : f;
}

/* "under Cache::insert", "asked for by it"; of code without a name its module. */
static void add_whom(const struct graph *g, const struct graph_frame *f, struct str *to) {
        const char *const *texts = g->texts->items.items;

        if (f->is_process)
                str_addf(to, " in %s", texts[f->name]);
        else if (f->is_unnamed)
                str_addf(to, " in %s", f->crate ? texts[f->crate] : texts[f->name]);
        else
                str_addf(to, " %s %s",
                         !g->is_reversed              ? "under"
                         : metric_is_count(g->metric) ? "made by"
                                                      : "requested by",
                         texts[f->name]);
}

/* The frame worth naming: the innermost with half of the whole; where that is as good as all of it, its largest part. */
static const struct graph_frame *telling_frame(const struct graph *g) {
        const struct graph_frame *f = g->frames.items, *root = f, *child = first_child(g, f);

        if (g->is_reversed)
                return child && child->width >= 0.05 * root->width ? child : NULL;
        while ((child = first_child(g, f)) && child->width >= 0.5 * root->width)
                f = child;
        if ((f == root || (f->width >= 0.95 * root->width && f->n_children > 1)) &&
            (child = first_child(g, f)))
                f = child;
        return f == root || f->width < 0.05 * root->width ? NULL : named_above(g, f);
}

static void add_pct(struct str *to, double share) {
        double pct = graph_pct(share);

        if (pct < 1)
                str_add(to, "under 1 %");
        else
                str_addf(to, "%.0f %%", pct);
}

/* " in worker", where there is a row of processes. */
static void add_process(const struct graph *g, const struct graph_frame *f, struct str *to) {
        while (f->depth > 1)
                f = &g->frames.items[f->parent];
        if (f->is_process)
                str_addf(to, " in %s", g->texts->items.items[f->name]);
}

static void add_telling(const struct graph *g, struct str *to) {
        const struct graph_frame *f = telling_frame(g);

        if (!f || g->frames.items[0].width <= 0)
                return;
        str_add(to, ": ");
        add_pct(to, f->width / g->frames.items[0].width);
        add_whom(g, f, to);
        if (!f->is_process)
                add_process(g, f, to);
}

/* Downwards while one child has half of what changed in all. */
static const struct graph_frame *changed_most(const struct graph *g) {
        const struct graph_frame *f = g->frames.items;
        double whole = (double)graph_change(g, f), sign = whole < 0 ? -1 : 1;

        for (;;) {
                const struct graph_frame *best = NULL;
                double most = 0;

                for (uint32_t i = 0; i < f->n_children; i++) {
                        const struct graph_frame *c = &g->frames.items[f->first_child + i];
                        double change = sign * (double)graph_change(g, c);

                        if (!c->is_rest && change > most) {
                                best = c;
                                most = change;
                        }
                }
                if (!best || most < (f->depth ? 0.5 : 0.2) * sign * whole)
                        break;
                f = best;
                if (g->is_reversed)
                        break;
        }
        return f->depth ? named_above(g, f) : NULL;
}

static void add_changed_most(const struct graph *g, struct str *to) {
        const struct graph_frame *f = changed_most(g);
        struct unit_text t;

        if (!f || graph_change(g, f) == 0)
                return;
        str_addf(to, ": %s", change_text(g->metric, graph_change(g, f), &t));
        add_whom(g, f, to);
        if (!f->is_process)
                add_process(g, f, to);
}

static void add_state(const struct view *v, const struct query_answer *a, struct str *to) {
        struct unit_text t;

        view_add_state(v, to);
        if (unit_weights() != UNIT_BYTES) {
                str_add(to, " of ");
                return;
        }
        switch (v->metric) {
        case QUERY_PEAK:
                str_addf(to, " (%s) of ", query_moment_text(v->q, &t, a->totals.peak_ns));
                break;
        case QUERY_ALLOCATED:
        case QUERY_COUNT:
        case QUERY_TEMPORARY: str_add(to, " by "); break;
        case QUERY_MAPPED:
                if (!v->scope.is_moment)
                        str_addf(to, ", most at %s",
                                 query_moment_text(v->q, &t, a->totals.peak_ns));
                str_add(to, ": ");
                break;
        case QUERY_END:
        case QUERY_GROWTH:
        case QUERY_CPU:
        case QUERY_BLOCKED:
        case QUERY_N_METRICS: str_add(to, " of "); break;
        }
}

static void add_difference(const struct graph *g, const struct view *v, struct str *to) {
        const struct graph_frame *root = g->frames.items;
        int64_t change = graph_change(g, root);
        struct unit_text a, b;

        add_program(v, to);
        str_add(to, ": ");
        if (change == 0)
                str_addf(to, "%s ", value_text(g->metric, root->is.value, &b));
        else
                str_addf(to, "%s → %s ", value_text(g->metric, root->was.value, &a),
                         value_text(g->metric, root->is.value, &b));
        view_add_state(v, to);
        if (change == 0)
                str_add(to, ", unchanged in total");
        else if (root->was.value > 0)
                add_relative(to, change, root->was.value);
        else
                str_addf(to, " (%s)", change_text(g->metric, change, &a));
        add_changed_most(g, to);
}

static void add_sentence(const struct graph *g, const struct words_source *of, struct str *to) {
        const struct graph_frame *root = g->frames.items;
        struct unit_text t;

        if (root->width <= 0) {
                view_add_nothing(of->view, of->answer, to);
                return;
        }
        if (g->has_old) {
                add_difference(g, of->view, to);
                return;
        }
        str_addf(to, "%s ", value_text(g->metric, root->is.value, &t));
        add_state(of->view, of->answer, to);
        add_program(of->view, to);
        if (g->metric == QUERY_GROWTH)
                add_changed_most(g, to);
        else
                add_telling(g, to);
}

/* ---- below it ---------------------------------------------------------------------------------- */

static void add_scope(const struct words_source *s, struct str *to) {
        const struct view *v = s->view;
        struct unit_text t;

        if (query_has_times(v->q) && v->scope.from_ns == 0 && v->scope.to_ns >= v->v->end_ns)
                str_addf(to, "The %s, %s. ",
                         v->v->finished ? "whole recording" : "recording so far",
                         unit_duration(&t, v->v->end_ns));
        view_add_scope(v, to);
}

static void add_doubts(const struct words_source *s, struct str *to) {
        struct str text = {0};

        view_add_doubts(s->view, s->answer, &text);
        for (size_t i = 0; i < text.n; i++)
                if (text.bytes[i] == '\n')
                        text.bytes[i] = ' ';
        if (text.n)
                str_addf(to, " %s", str_text(&text));
        str_done(&text);
}

static void add_subtitle(const struct graph *g, const struct words_source *of, struct str *to) {
        if (g->frames.items[0].width <= 0) {
                add_program(of->view, to);
                str_add(to, ". ");
        }
        if (g->has_old)
                str_addf(to, "%s compared with %s. ", frame_base(of[GRAPH_NEW].path),
                         frame_base(of[GRAPH_OLD].path));
        add_scope(&of[GRAPH_NEW], to);
        add_doubts(&of[GRAPH_NEW], to);
        if (g->has_old)
                add_doubts(&of[GRAPH_OLD], to);
}

/* What colours mean beside what the keys say. */
static void add_colours(const struct graph *g, struct str *to) {
        bool has_own = false, has_unnamed = false;

        for (size_t i = 0; i < g->frames.n; i++) {
                has_own |= g->frames.items[i].hue == HUE_OWN;
                has_unnamed |= g->frames.items[i].is_unnamed && g->frames.items[i].crate &&
                               g->frames.items[i].width >= 0.01 * g->frames.items[0].width;
        }
        if (has_own)
                str_add(to, " Orange: the program's own code.");
        if (g->has_system)
                str_add(to, " Grey-blue: system libraries.");
        if (has_unnamed)
                str_add(to, " Pale: code without a name.");
}

static void add_note(const struct graph *g, struct str *to) {
        static const char *const widths[QUERY_N_METRICS] = {"bytes live at the peak",
                                                            "bytes live at the end",
                                                            "bytes allocated",
                                                            "allocations",
                                                            "temporary allocations",
                                                            "how much live bytes changed",
                                                            "bytes mapped by the program itself",
                                                            "CPU time",
                                                            "time blocked"};
        bool has_inlined = false, has_tasks = false;
        struct unit_text t;

        if (g->frames.items[0].width <= 0)
                return;
        for (size_t i = 0; i < g->frames.n; i++) {
                has_inlined |= g->frames.items[i].is_inlined;
                has_tasks |= g->frames.items[i].is_task;
        }
        str_addf(to, "Width: %s%s. Below a function: %s.", widths[g->metric],
                 g->has_old ? ", the larger of both" : "",
                 g->is_reversed ? "who called it"
                 : query_metric_time(g->metric)
                         ? "what it called, down to where the time went"
                         : "what it called, down to the code that requested the memory");
        if (g->has_old)
                str_add(to,
                        " Red: grew, darker for more. Purple: new. Blue: shrank. Dark blue: gone.");
        else if (graph_is_change(g))
                str_add(to, " Red: grew. Blue: shrank.");
        else
                add_colours(g, to);
        if (has_inlined)
                str_add(to, " Italic: inlined.");
        if (has_tasks)
                str_add(to, " Bold: async.");
        if (g->n_rest)
                str_addf(to, " Frames too small to show: %s, merged.", unit_count(&t, g->n_rest));
}

static char *take_clean(struct str *s, struct arena *arena) {
        struct str clean = {0};
        char *text;

        while (s->n && s->bytes[s->n - 1] == ' ')
                s->bytes[--s->n] = 0;
        style_add_clean(&clean, str_text(s));
        text = arena_strdup(arena, str_text(&clean));
        str_done(&clean);
        str_clear(s);
        return text;
}

void words_find(struct words *w, const struct graph *g, const struct words_source *of,
                const struct flame_options *o, struct arena *arena) {
        struct str s = {0};

        add_sentence(g, of, &s);
        if (o->title) {
                struct str title = {0};

                str_add(&title, o->title);
                w->title = take_clean(&title, arena);
                str_done(&title);
                str_add(&s, ". ");
        } else {
                w->title = take_clean(&s, arena);
        }
        add_subtitle(g, of, &s);
        w->subtitle = take_clean(&s, arena);
        add_note(g, &s);
        w->note = take_clean(&s, arena);
        str_done(&s);
}
