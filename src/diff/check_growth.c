/* SPDX-License-Identifier: MIT */
#include "diff/check_growth.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diff/culprits.h"
#include "finding/finding.h"
#include "finding/series.h"

enum {
        MEASURE_COLUMNS = 200,        /* of time */
        MEASURE_MAX_EVENTS = 4000000, /* read for it */
        MEASURE_END_PCT = 5,          /* of the time: where programs take themselves down */
};

/* Of a rise, by functions that rise themselves. */
#define MEASURE_OWN_RISE 0.5

#define MEASURE_MIN_NS 1000000000ull /* shorter recordings tell no growth */

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
                        culprit_add(r, &c->side, f->items[i].site.stack,
                                    strcmp(f->items[i].kind, "leak") == 0
                                            ? (double)f->items[i].bytes
                                            : number_of(&f->items[i], "rise_bytes"));
        if (r->n_culprits)
                return 0;
        scope.from_ns = (uint64_t)(p->since_s * 1e9);
        scope.to_ns = MAX((uint64_t)(g->x[g->n - 1] * 1e9), scope.from_ns + 1);
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x >= 0)
                culprits_find(c, r, a, QUERY_GROWTH);
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

static double in_unit(const struct check_result *r, double bytes_per_s, double level) {
        return r->limit->unit == LIMIT_IN_PERCENT_PER_S ? 100 * bytes_per_s / level : bytes_per_s;
}

/* What is never freed and grows ever more slowly may come to rest or not. Its pace in the last third is the least that is true:
 * within the limit it is kept, above it nobody knows. */
static void measure_open_growth(struct check_result *r, const struct growth *g,
                                const struct finding_growth *f) {
        struct pace p = {.bytes_per_s = f->open_bytes_per_s,
                         .since_s = f->open_since_s,
                         .is_by_function = true};
        double measured = in_unit(r, p.bytes_per_s, level_at(g, &p));
        struct unit_text b, rate, t;

        if (measured <= r->measured)
                return;
        r->measured = measured;
        r->growth_bytes_per_s = p.bytes_per_s;
        snprintf(r->remark, sizeof(r->remark),
                 "%s were never freed and still grew, by %s per second since %s",
                 unit_bytes(&b, unit_nearest(f->open_bytes)),
                 unit_bytes(&rate, unit_nearest(p.bytes_per_s)),
                 unit_duration(&t, unit_nearest(p.since_s * 1e9)));
        if (measured > r->limit->limit) {
                size_t n = strlen(r->remark);

                r->status = CHECK_UNTOLD;
                snprintf(r->remark + n, sizeof(r->remark) - n,
                         ": record for longer to see whether it goes on");
        }
}

int check_measure_growth(struct check *c, struct check_result *r, struct err *reterr) {
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
        r->growth_bytes_per_s = p.bytes_per_s;
        r->measured = in_unit(r, p.bytes_per_s, level_at(&g, &p));
        if (r->measured > r->limit->limit || p.bytes_per_s == 0)
                remark_growth(r, &g, &p);
        if (r->measured <= r->limit->limit) {
                measure_open_growth(r, &g, &f->growth);
                return 0;
        }
        r->status = CHECK_FAILED;
        return blame_growth(c, r, &g, &p, f, reterr);
}
