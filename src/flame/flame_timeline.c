/* SPDX-License-Identifier: MIT */
#include "flame/flame_timeline.h"

#include "base/units.h"
#include "query/spent_time.h"
#include "query/trace_times.h"

enum {
        MAX_EVENTS = 4000000, /* read for a recording of few slices */
        THOUSANDTHS = 1000,   /* of a thread: what heights of time are */
};

/* How many threads ran, or waited, in the mean of each column. */
static bool ask_time(struct timeline_curve *c, const struct view *v,
                     const struct query_scope *scope) {
        double ns[TIMELINE_COLUMNS], column_ns = (double)c->end_ns / TIMELINE_COLUMNS;
        struct err ignored = {0};

        if (query_time_columns(v->q, scope, TIMELINE_COLUMNS, ns, &ignored) < 0)
                return false;
        for (size_t i = 0; i < TIMELINE_COLUMNS; i++)
                c->heights[i] = unit_nearest(ns[i] / column_ns * THOUSANDTHS);
        return true;
}

static bool ask_memory(struct timeline_curve *c, const struct view *v,
                       const struct query_scope *scope) {
        struct query_column columns[TIMELINE_COLUMNS];
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err ignored = {0};

        if (query_ask(v->q, scope, &a, &ignored) < 0 ||
            query_timeline(v->q, scope, TIMELINE_COLUMNS, MAX_EVENTS, columns, &ignored) < 0)
                return false;
        for (size_t i = 0; i < TIMELINE_COLUMNS; i++)
                c->heights[i] = columns[i].live_bytes;
        c->peak_ns = a->totals.peak_ns;
        c->peak_bytes = a->totals.peak_bytes;
        return true;
}

void timeline_ask(struct timeline *t, const struct view *v, size_t side) {
        struct query_scope scope = {.process = v->scope.process,
                                    .to_ns = UINT64_MAX,
                                    .of_time = v->scope.of_time};
        struct timeline_curve *c = &t->curves[side];

        *c = (struct timeline_curve){.end_ns = v->v->end_ns,
                                     .from_ns = v->scope.from_ns,
                                     .to_ns = MIN(v->scope.to_ns, v->v->end_ns)};
        t->time = scope.of_time;
        if (side == 0)
                t->q = v->q;
        if (c->end_ns == 0 || !(scope.of_time ? ask_time : ask_memory)(c, v, &scope))
                return; /* of a damaged trace the frames are better than nothing */
        for (size_t i = 0; i < TIMELINE_COLUMNS; i++)
                c->highest = MAX(c->highest, c->heights[i]);
        t->n = c->highest ? side + 1 : t->n;
}

/* ---- as SVG --------------------------------------------------------------------------------------- */

struct area {
        double x, y, width, height; /* of the curve */
        uint64_t end_ns;            /* right edge */
        double most;                /* upper edge */
};

static void add_text(struct str *to, double x, double y, const char *anchor, const char *text) {
        str_addf(to, "<text class=\"words\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                 x, y, anchor, text);
}

/* Steps: each column has its highest value. */
static void add_curve(struct str *to, const struct area *a, const struct timeline_curve *c,
                      bool is_old) {
        double step = a->width * ((double)c->end_ns / (double)a->end_ns) / TIMELINE_COLUMNS;

        str_addf(to, "<path class=\"%s\" d=\"M%.1f,%.1f", is_old ? "told" : "tnew", a->x,
                 a->y + a->height);
        for (size_t i = 0; i < TIMELINE_COLUMNS; i++)
                str_addf(to, "V%.1fH%.1f",
                         a->y + a->height - a->height * (double)c->heights[i] / a->most,
                         a->x + step * (double)(i + 1));
        str_addf(to, "V%.1f%s\"/>\n", a->y + a->height, is_old ? "" : "Z");
}

/* What lies outside of the window that was asked about. */
static void add_veil(struct str *to, const struct area *a, uint64_t from_ns, uint64_t to_ns) {
        double x = a->x + a->width * (double)from_ns / (double)a->end_ns;
        double w = a->width * (double)(to_ns - from_ns) / (double)a->end_ns;

        if (w >= 0.5)
                str_addf(
                        to,
                        "<rect class=\"tveil\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                        x, a->y, w, a->height);
}

static void add_most(struct str *to, const struct timeline *t, const struct timeline_curve *c) {
        struct unit_text text;

        if (t->time)
                str_addf(to, "at most %.2f", (double)c->highest / THOUSANDTHS);
        else
                str_addf(to, "at most %s", unit_weight(&text, c->peak_bytes));
}

static void add_heading(struct str *to, const struct timeline *t) {
        struct unit_text at;

        str_add(to, t->time == QUERY_CPU_TIME       ? "Threads on a CPU over time: "
                    : t->time == QUERY_BLOCKED_TIME ? "Threads blocked over time: "
                                                    : "Live memory over time: ");
        add_most(to, t, &t->curves[0]);
        if (!t->time)
                str_addf(to, ", at %s", query_moment_text(t->q, &at, t->curves[0].peak_ns));
        if (t->n > 1) {
                str_add(to, "; line: before, ");
                add_most(to, t, &t->curves[1]);
        }
}

double timeline_draw(struct str *to, const struct timeline *t, double width, double pad, double y) {
        const struct timeline_curve *c = &t->curves[0];
        struct area a = {.x = pad, .y = y + 22, .width = width - 2 * pad, .height = TIMELINE_CURVE};
        struct unit_text at;
        struct str text = {0};

        if (t->n == 0)
                return y;
        for (size_t i = 0; i < t->n; i++) {
                a.most = MAX(a.most, (double)t->curves[i].highest);
                a.end_ns = MAX(a.end_ns, t->curves[i].end_ns);
        }
        add_heading(&text, t);
        add_text(to, a.x, y + 14, "start", str_text(&text));
        add_curve(to, &a, c, false);
        if (t->n > 1)
                add_curve(to, &a, &t->curves[1], true);
        add_veil(to, &a, 0, MIN(c->from_ns, c->end_ns));
        add_veil(to, &a, c->to_ns, c->end_ns);
        str_addf(to, "<path class=\"taxis\" d=\"M%.1f,%.1fH%.1f\"/>\n", a.x, a.y + a.height,
                 a.x + a.width);
        add_text(to, a.x, a.y + a.height + 14, "start", "0 s");
        add_text(to, a.x + a.width / 2, a.y + a.height + 14, "middle",
                 query_moment_text(t->q, &at, a.end_ns / 2));
        add_text(to, a.x + a.width, a.y + a.height + 14, "end",
                 query_moment_text(t->q, &at, a.end_ns));
        str_done(&text);
        return y + TIMELINE_HEIGHT;
}
