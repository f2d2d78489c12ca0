/* SPDX-License-Identifier: MIT */
#include "diff/check_measure.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diff/diff_words.h"
#include "diff/paired.h"
#include "finding/finding.h"
#include "finding/series.h"
#include "query/spent_time.h"
#include "show/frame.h"
#include "show/process_holders.h"

enum {
        MEASURE_COLUMNS = 200,        /* of time, for growth */
        MEASURE_MAX_EVENTS = 4000000, /* read for it */
        MEASURE_ALIKE_PCT = 10,       /* by which lengths of recordings may differ */
        MEASURE_END_PCT = 5,          /* of the time: where programs take themselves down */
};

/* Of a rise, by functions that rise themselves. */
#define MEASURE_OWN_RISE 0.5

#define MEASURE_MIN_NS 1000000000ull /* shorter recordings tell no growth */

/* ---- who did it ------------------------------------------------------------------------------ */

/* f NULL: no stack is known. */
static void add_frame(struct check_result *r, const struct diff_side *s, const struct name_frame *f,
                      bool is_task, double value) {
        struct culprit *c = &r->culprits[r->n_culprits];
        struct str name = {0}, place = {0};

        if (f) {
                frame_add_function(&name, &s->frames, f, is_task, false, true);
                frame_add_place(&place, f, false);
        } else {
                str_add(&name, "(no stack)");
        }
        c->name = strdup(str_text(&name));
        c->place = strdup(str_text(&place));
        if (!c->name || !c->place)
                abort();
        c->value = value;
        r->n_culprits++;
        str_done(&name);
        str_done(&place);
}

static void add_culprit(struct check_result *r, const struct diff_side *s, uint32_t stack,
                        double value) {
        struct frame_stack x = {0};

        frame_stack_fill(&x, &s->frames, stack, false);
        if (x.shown.n)
                add_frame(r, s, &x.frames.items[x.shown.items[0].frame_idx],
                          x.shown.items[0].is_task, value);
        else
                add_frame(r, s, NULL, false, value);
        frame_stack_done(&x);
}

/* The functions that have most of a metric in an answer. */
static void blame(struct check *c, struct check_result *r, const struct query_answer *a,
                  enum query_metric m) {
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = m};
        struct query_groups *g = query_group_answer(c->side.q, a, &by);

        for (size_t i = 0; i < g->n && r->n_culprits < CHECK_CULPRITS; i++) {
                int64_t value = query_figure_of(&g->rows[i].self, m).value;

                if (value > 0)
                        add_culprit(r, &c->side, g->rows[i].stack, (double)value);
        }
        query_groups_free(g);
}

/* ---- growth ---------------------------------------------------------------------------------- */

struct growth {
        double x[MEASURE_COLUMNS], y[MEASURE_COLUMNS];
        size_t n;
        struct series_trend trend;
        uint64_t begin_ns; /* where the warm-up ends */
};

/* A program that releases all before it exits has not stopped growing for that. */
static size_t without_end(const double *y, size_t n) {
        size_t begin = n - n * MEASURE_END_PCT / 100;

        for (size_t i = begin; i < n && begin > 0; i++)
                if (y[i] < y[begin - 1] / 2)
                        return i;
        return n;
}

static int measure_series(struct check *c, struct growth *g, struct err *reterr) {
        struct query_column columns[MEASURE_COLUMNS];
        int r = query_timeline(c->side.q, &c->side.answer->scope, MEASURE_COLUMNS,
                               MEASURE_MAX_EVENTS, columns, reterr);

        if (r < 0)
                return r;
        for (size_t i = 0; i < MEASURE_COLUMNS; i++) {
                g->x[i] = (double)columns[i].end_ns / 1e9;
                g->y[i] = (double)columns[i].low_live_bytes;
        }
        g->n = without_end(g->y, MEASURE_COLUMNS);
        series_trend(&(struct series){.x = g->x, .y = g->y, .n = g->n}, &g->trend);
        g->begin_ns = columns[MIN(g->trend.begin_idx, g->n - 1)].end_ns;
        return 0;
}

/* ---- growth in whatever rhythm --------------------------------------------------------------- */

static double number_of(const struct finding *x, const char *name) {
        for (size_t i = 0; i < x->n_numbers; i++)
                if (strcmp(x->numbers[i].name, name) == 0)
                        return x->numbers[i].value;
        return 0;
}

/* What a check measures: the steepest of what all live bytes do over time, what they do by the program's work, and what the
 * functions do that a report says to grow, which others may hide that come and go. */
struct pace {
        double bytes_per_s, since_s;
        bool is_uneven;
        bool is_by_function;
};

static void take_pace(struct pace *p, struct pace other) {
        if (other.bytes_per_s > p->bytes_per_s)
                *p = other;
}

/* What a report says to grow, or to be lost. */
static bool is_growth(const struct finding *x) {
        return x->has_site && (strcmp(x->kind, "growing") == 0 || strcmp(x->kind, "leak") == 0);
}

static struct pace pace_of(const struct growth *g, const struct findings *f) {
        double begin_s = g->x[0], end_s = fmax(g->x[g->n - 1], begin_s + 1e-3);
        struct pace p = {0}, by_function = {.is_by_function = true, .since_s = INFINITY};

        for (size_t i = 0; i < f->n; i++) {
                const struct finding *x = &f->items[i];

                if (!is_growth(x))
                        continue;
                if (strcmp(x->kind, "leak") == 0) { /* at no known pace: spread over the time */
                        by_function.bytes_per_s += (double)x->bytes / (end_s - begin_s);
                        by_function.since_s = begin_s;
                        by_function.is_uneven = true;
                        continue;
                }
                by_function.bytes_per_s += number_of(x, "bytes_per_s");
                by_function.since_s = fmin(by_function.since_s, number_of(x, "since_s"));
                by_function.is_uneven |= number_of(x, "is_uneven") > 0;
        }
        /* over time it is told best; unless it is only several functions that are filled one after the other */
        if (g->trend.shape == SERIES_RISING && g->trend.slope > 0 &&
            (by_function.bytes_per_s > 0 ||
             f->growth.risen_bytes >= MEASURE_OWN_RISE * g->trend.rise))
                return (struct pace){g->trend.slope, (double)g->begin_ns / 1e9, false, false};
        take_pace(&p, (struct pace){f->growth.bytes_per_s, f->growth.since_s, f->growth.is_uneven,
                                    false});
        take_pace(&p, by_function);
        return p;
}

/* Live bytes when it began. */
static double level_at(const struct growth *g, const struct pace *p) {
        size_t i = 0;

        if (g->trend.shape == SERIES_RISING && !p->is_uneven && !p->is_by_function)
                return fmax(g->trend.level, 1);
        while (i + 1 < g->n && g->x[i] < p->since_s)
                i++;
        return fmax(g->y[i], 1);
}

static int blame_growth(struct check *c, struct check_result *r, const struct growth *g,
                        const struct pace *p, const struct findings *f, struct err *reterr) {
        struct query_scope scope = c->side.answer->scope;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        int x;

        for (size_t i = 0; i < f->n && p->is_by_function && r->n_culprits < CHECK_CULPRITS; i++)
                if (is_growth(&f->items[i]))
                        add_culprit(r, &c->side, f->items[i].site.stack,
                                    strcmp(f->items[i].kind, "leak") == 0
                                            ? (double)f->items[i].bytes
                                            : number_of(&f->items[i], "rise_bytes"));
        if (r->n_culprits)
                return 0;
        scope.from_ns = (uint64_t)(p->since_s * 1e9);
        scope.to_ns = MAX((uint64_t)(g->x[g->n - 1] * 1e9), scope.from_ns + 1);
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x >= 0)
                blame(c, r, a, QUERY_GROWTH);
        return x;
}

static int find(struct check *c, struct findings **ret, struct err *reterr) {
        const struct diff_side *s = &c->side;

        return findings_make(&(struct finding_source){.q = s->q,
                                                      .names = s->frames.names,
                                                      .answer = s->answer,
                                                      .whole = &s->answer->totals,
                                                      .complete_stacks_pct = 100,
                                                      .is_windowed = side_is_windowed(s)},
                             ret, reterr);
}

static void remark_growth(struct check_result *r, const struct growth *g, const struct pace *p) {
        struct unit_text t, b;

        if (p->bytes_per_s > 0)
                snprintf(r->remark, sizeof(r->remark), "%s per second, %s since %s",
                         unit_bytes(&b, unit_nearest(p->bytes_per_s)),
                         p->is_uneven ? "on average but unevenly" : "steadily",
                         unit_duration(&t, unit_nearest(p->since_s * 1e9)));
        else if (g->trend.rise > 0 && g->trend.shape == SERIES_RISING)
                snprintf(r->remark, sizeof(r->remark),
                         "%s in total, but no single function grows throughout",
                         unit_bytes(&b, unit_nearest(g->trend.rise)));
        else if (g->trend.rise > 0)
                snprintf(r->remark, sizeof(r->remark), "%s: %s in total, but not steadily",
                         series_shape_name(g->trend.shape),
                         unit_bytes(&b, unit_nearest(g->trend.rise)));
}

static int measure_growth(struct check *c, struct check_result *r, struct err *reterr) {
        _cleanup_(findings_freep) struct findings *f = NULL;
        struct growth g = {0};
        struct unit_text t;
        struct pace p;
        int x = measure_series(c, &g, reterr);

        if (x < 0)
                return x;
        if (side_duration_ns(&c->side) < MEASURE_MIN_NS || g.trend.shape == SERIES_UNKNOWN) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark),
                         "%s are too short to measure growth: record for longer",
                         unit_duration(&t, side_duration_ns(&c->side)));
                return 0;
        }
        x = find(c, &f, reterr);
        if (x < 0)
                return x;
        p = pace_of(&g, f);
        r->measured = r->growth_bytes_per_s = p.bytes_per_s;
        if (r->limit->unit == LIMIT_IN_PERCENT_PER_S)
                r->measured = 100 * r->measured / level_at(&g, &p);
        if (r->measured > r->limit->limit || p.bytes_per_s == 0)
                remark_growth(r, &g, &p);
        if (r->measured <= r->limit->limit)
                return 0;
        r->status = CHECK_FAILED;
        return blame_growth(c, r, &g, &p, f, reterr);
}

/* ---- one function ---------------------------------------------------------------------------- */

/* The nodes of the tree that asked for most themselves. */
static void blame_nodes(struct check *c, struct check_result *r, const struct query_tree *tree) {
        int64_t above = INT64_MAX;
        struct name_frame f;

        while (r->n_culprits < CHECK_CULPRITS) {
                const struct query_node *most = NULL;

                for (size_t i = 0; i < tree->n_nodes; i++) {
                        const struct query_node *n = &tree->nodes[i];

                        if (!n->is_rest && n->self.peak_bytes > 0 && n->self.peak_bytes < above &&
                            (!most || n->self.peak_bytes > most->self.peak_bytes))
                                most = n;
                }
                if (!most)
                        break;
                above = most->self.peak_bytes;
                f = frame_of(&most->frame);
                add_frame(r, &c->side, &f, most->is_task, (double)above);
        }
}

static int measure_function(struct check *c, struct check_result *r, struct err *reterr) {
        const struct query_tree_options o = {.kind = QUERY_CALLEES,
                                             .metric = QUERY_PEAK,
                                             .function = r->limit->function};
        _cleanup_(query_tree_freep) struct query_tree *tree = NULL;
        struct err why = {0};
        int x = query_tree(c->side.q, &c->side.answer->scope, &o, &tree, &why);

        if (x == -ENOENT) {
                snprintf(r->remark, sizeof(r->remark), "it is on no call path");
                r->status = CHECK_UNTOLD; /* a slip in the name must not pass for a limit kept */
                return 0;
        }
        if (x < 0)
                return err_set(reterr, x, "--max: %s", why.text);
        r->measured = (double)tree->root->total.peak_bytes;
        if (tree->n_functions > 1)
                snprintf(r->remark, sizeof(r->remark), "%zu functions have this name",
                         tree->n_functions);
        if (r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                blame_nodes(c, r, tree);
        }
        return 0;
}

/* ---- compared -------------------------------------------------------------------------------- */

/* What flows grows with time. */
static void note_lengths(const struct diff *d, struct check_result *r) {
        uint64_t base_ns = side_duration_ns(&d->sides[NAME_OLD]);
        uint64_t now_ns = side_duration_ns(&d->sides[NAME_NEW]);
        struct unit_text t, u;

        if (d->metric != QUERY_PEAK && d->metric != QUERY_END &&
            fabs((double)now_ns - (double)base_ns) * 100 > (double)base_ns * MEASURE_ALIKE_PCT)
                snprintf(r->remark, sizeof(r->remark), "recorded for %s, the base for %s",
                         unit_duration(&t, now_ns), unit_duration(&u, base_ns));
}

/* Above the base by more than the limit, and by more than chance. */
static bool is_above(const struct diff *d, const struct check_result *r) {
        bool counts = d->metric == QUERY_COUNT || d->metric == QUERY_TEMPORARY;
        double more = r->measured - r->base;

        return more > fabs(r->base) * r->limit->limit / 100 &&
               more >= (query_metric_time(d->metric) ? DIFF_MIN_NS
                        : counts                     ? DIFF_MIN_COUNT
                                                     : DIFF_MIN_BYTES);
}

static int compare(struct check *c, struct check_result *r, const struct request *asked,
                   struct err *reterr) {
        const struct check_options *o = c->options;
        struct diff_options options = DIFF_OPTIONS_DEFAULT;
        struct diff d;
        int x;

        options.sources[NAME_OLD] = (struct diff_source){o->against, asked};
        options.sources[NAME_NEW] = (struct diff_source){o->source.path, asked};
        x = diff_gather(&d, &options, reterr);
        if (x == -ENODATA) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the traces do not both have it");
                return 0;
        }
        if (x < 0)
                return x;
        r->base = diff_total(&d, NAME_OLD);
        r->measured = diff_total(&d, NAME_NEW);
        note_lengths(&d, r);
        str_clear(&c->base_doubt);
        side_add_doubt(&d.sides[NAME_OLD], &c->base_doubt);
        if (is_above(&d, r) && d.total_is_chance && !o->strict)
                snprintf(r->remark, sizeof(r->remark), "%s",
                         query_metric_time(d.metric)
                                 ? "within what samples can be wrong by"
                                 : "chance: the work is the same, and both fluctuate by more");
        else if (is_above(&d, r))
                r->status = CHECK_FAILED;
        for (size_t i = 0;
             i < d.functions.n && r->status == CHECK_FAILED && r->n_culprits < CHECK_CULPRITS;
             i++) {
                const struct diff_row *row = &d.functions.items[i];

                if (diff_change(&d, row) > 0 && row->has[NAME_NEW])
                        add_culprit(r, &d.sides[NAME_NEW], row->stacks[NAME_NEW],
                                    diff_change(&d, row));
        }
        diff_done(&d);
        return 0;
}

static int measure_against(struct check *c, struct check_result *r, struct err *reterr) {
        struct request asked = request_copy(c->options->source.request);
        int x = request_set(&asked, "by", r->limit->metric, reterr);

        if (x >= 0)
                x = compare(c, r, &asked, reterr);
        request_done(&asked);
        return x;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void measure_plain(struct check *c, struct check_result *r) {
        const struct query_totals *t = &c->side.answer->totals;
        enum query_metric metric = QUERY_PEAK;

        switch (r->limit->kind) {
        case LIMIT_PEAK:
                r->measured = (double)t->peak_bytes;
                if (t->lacks_peak) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace is of one moment, and does not know its peak");
                }
                break;
        case LIMIT_RSS:
                r->measured = (double)t->peak_rss_bytes;
                if (!t->peak_rss_bytes) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace has no figures for resident memory");
                }
                break;
        case LIMIT_ALLOCATED:
                r->measured = (double)t->alloc_bytes;
                metric = QUERY_ALLOCATED;
                if (t->lacks_blocks || t->lacks_traffic) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace does not know what was allocated");
                }
                break;
        case LIMIT_ALLOCATIONS:
                r->measured = (double)t->n_allocs;
                metric = QUERY_COUNT;
                if (t->lacks_blocks || t->lacks_traffic) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark), "%s",
                                 t->lacks_traffic ? "the trace has only what was live"
                                                  : "the trace has no numbers of blocks");
                }
                break;
        case LIMIT_TEMPORARY_SHARE:
                r->measured = t->n_allocs ? 100 * (double)t->n_temporary / (double)t->n_allocs : 0;
                metric = QUERY_TEMPORARY;
                if (t->lacks_events) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace has totals and no events");
                }
                break;
        default: break;
        }
        if (r->status != CHECK_UNTOLD && r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                blame(c, r, c->side.answer, metric);
        }
}

/* What it left of what it allocated itself. */
static uint64_t own_end_bytes(const struct query_answer *a) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;

                if (f->alloc_bytes > f->free_bytes)
                        bytes +=
                                MIN(f->alloc_bytes - f->free_bytes, (uint64_t)MAX(f->end_bytes, 0));
        }
        return bytes;
}

/* A process that ended before the others has left what it held, though their sum no longer has it. */
static int measure_left(struct check *c, struct check_result *r, uint32_t process,
                        struct query_answer **worst, struct err *reterr) {
        const struct trace_process_info *p = &c->side.v->processes[process];
        struct query_scope scope = c->side.answer->scope;
        struct query_answer *a;
        struct str name = {0};
        int x;

        if (!p->has_end || p->end.ended == TRACE_ENDED_STOPPED || p->end.ended == TRACE_ENDED_EXEC)
                return 0;
        scope.process = process;
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x < 0)
                return x;
        if ((double)own_end_bytes(a) <= r->measured) {
                query_answer_free(a);
                return 0;
        }
        r->measured = (double)own_end_bytes(a);
        query_add_process_name(c->side.q, process, &name);
        err_make_one_line(name.bytes);
        snprintf(r->remark, sizeof(r->remark), "when %s (pid %u) ended", str_text(&name),
                 p->start.pid);
        str_done(&name);
        query_answer_free(*worst);
        *worst = a;
        return 0;
}

static int measure_end(struct check *c, struct check_result *r, struct err *reterr) {
        const struct query_answer *all = c->side.answer;
        _cleanup_(query_answer_freep) struct query_answer *worst = NULL;
        uint32_t processes[HOLDERS_MAX];
        bool is_of_all = all->scope.process == QUERY_ALL && !side_is_windowed(&c->side);
        size_t n = is_of_all ? holders_of(c->side.q, all, processes) : 0;
        int x = 0;

        r->measured = (double)all->totals.end_bytes;
        for (size_t i = 0; i < n && x >= 0; i++)
                x = measure_left(c, r, processes[i], &worst, reterr);
        if (x >= 0 && r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                blame(c, r, worst ? worst : all, QUERY_END);
        }
        return x;
}

/* What a call path lost with all that hung from it counts for it, so the sum of them is the figure. */
static void blame_leaks(struct check *c, struct check_result *r, const struct kept_leaks *l) {
        for (size_t i = l->records.n; i-- > 0 && r->n_culprits < CHECK_CULPRITS;) {
                const struct loss_record *x = &l->records.items[i];

                if (x->class == LEAK_DEFINITE && !x->is_suppressed)
                        add_culprit(r, &c->side, x->stack == REACH_NO_SITE ? 0 : x->stack,
                                    (double)(x->bytes + x->indirect_bytes));
        }
}

/* A trace without a graph is no pass with a remark: who asks for leaks has not recorded what is needed. */
static int measure_leaked(struct check *c, struct check_result *r, struct err *reterr) {
        const char *path = c->options->source.path;
        struct kept_leaks l = {0};
        struct unit_text t;
        int x;

        if (!query_filter_is_empty(c->options->source.request->filter))
                return err_set(
                        reterr, -EINVAL,
                        "--max-leaked counts all call paths of the process: leave out filters, or use --suppressions");
        x = kept_leaks_open(&l, c->side.q, path, c->side.answer->scope.process,
                            &c->options->suppressions, reterr);
        if (x >= 0) {
                r->measured = (double)kept_leaks_lost_bytes(&l);
                if (!l.is_at_exit)
                        snprintf(r->remark, sizeof(r->remark), "by the graph taken after %s",
                                 unit_duration(&t, l.graph.info.time_ns));
                if (r->measured > r->limit->limit) {
                        r->status = CHECK_FAILED;
                        blame_leaks(c, r, &l);
                }
        }
        kept_leaks_done(&l);
        return x;
}

/* The sum of a clock's samples is good to a period for each time a thread runs: it is held against the limit as it is. */
static int measure_time(struct check *c, struct check_result *r, enum query_metric m,
                        struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = c->side.answer->scope;
        int x;

        if (!query_has_ticks(c->side.q)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace has no samples of time");
                return 0;
        }
        scope.of_time = query_metric_time(m);
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x < 0)
                return x;
        r->measured = (double)a->totals.alloc_bytes;
        if (r->measured <= r->limit->limit)
                return 0;
        r->status = CHECK_FAILED;
        c->side.frames.is_of_time = true; /* for the names of those to blame */
        blame(c, r, a, m);
        c->side.frames.is_of_time = c->side.answer->scope.of_time != QUERY_NO_TIME;
        return 0;
}

static bool is_about_time(const struct limit *l) {
        return l->kind == LIMIT_CPU || l->kind == LIMIT_BLOCKED;
}

static int measure(struct check *c, struct check_result *r, struct err *reterr) {
        if (query_is_blank(c->side.q)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark),
                         "nothing of what the program did is in the trace");
                return 0;
        }
        if (r->limit->kind == LIMIT_GROWTH && c->side.answer->totals.lacks_time) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace has no times");
                return 0;
        }
        if (query_is_of_time(c->side.q) && r->limit->kind != LIMIT_AGAINST &&
            !is_about_time(r->limit)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark),
                         "the trace has samples of time and no allocations");
                return 0;
        }
        if (c->side.v->meta.unit != TRACE_UNIT_BYTES && r->limit->kind != LIMIT_AGAINST) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace has no bytes");
                return 0;
        }
        switch (r->limit->kind) {
        case LIMIT_CPU: return measure_time(c, r, QUERY_CPU, reterr);
        case LIMIT_BLOCKED: return measure_time(c, r, QUERY_BLOCKED, reterr);
        case LIMIT_LEAKED: return measure_leaked(c, r, reterr);
        case LIMIT_END: return measure_end(c, r, reterr);
        case LIMIT_GROWTH: return measure_growth(c, r, reterr);
        case LIMIT_FUNCTION: return measure_function(c, r, reterr);
        case LIMIT_AGAINST: return measure_against(c, r, reterr);
        default: measure_plain(c, r); return 0;
        }
}

int check_measure(struct check *c, const struct check_options *o, struct err *reterr) {
        const struct query_filter *filter = o->source.request->filter;
        int r;

        *c = (struct check){.options = o};
        r = side_open(&c->side, &o->source, NULL, reterr);
        if (r >= 0)
                r = side_ask(&c->side, reterr);
        for (size_t i = 0; i < o->limits.n && r >= 0; i++) {
                struct check_result *result = vec_add(&c->results);

                result->limit = &o->limits.items[i];
                r = measure(c, result, reterr);
        }
        opened_end_progress(&c->side.opened);
        if (r < 0) {
                check_done(c);
                return r;
        }
        side_add_doubt(&c->side, &c->doubt);
        if (!c->doubt.n && !query_filter_is_empty(filter) && !c->side.answer->totals.n_allocs &&
            !c->side.answer->totals.peak_bytes)
                str_addf(&c->doubt, "No block has %s: check the spelling.",
                         query_filter_text(filter));
        return 0;
}

void check_done(struct check *c) {
        for (size_t i = 0; i < c->results.n; i++)
                for (size_t k = 0; k < c->results.items[i].n_culprits; k++) {
                        free(c->results.items[i].culprits[k].name);
                        free(c->results.items[i].culprits[k].place);
                }
        vec_free(&c->results);
        str_done(&c->doubt);
        str_done(&c->base_doubt);
        side_done(&c->side);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

size_t check_count(const struct check *c, enum check_status s) {
        size_t n = 0;

        for (size_t i = 0; i < c->results.n; i++)
                n += c->results.items[i].status == s;
        return n;
}

enum check_status check_status_of(const struct check *c) {
        bool is_whole = c->doubt.n == 0 && c->base_doubt.n == 0;

        if (check_count(c, CHECK_FAILED))
                return CHECK_FAILED;
        if (check_count(c, CHECK_UNTOLD) || !is_whole)
                return CHECK_UNTOLD;
        return CHECK_OK;
}

const char *check_status_name(enum check_status s) {
        return s == CHECK_OK ? "ok" : s == CHECK_FAILED ? "failed" : "unknown";
}
