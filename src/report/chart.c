/* SPDX-License-Identifier: MIT */
/* Live bytes are filled, resident memory is a line:
 *
 *                       ▼ peak 41.2 MiB at 1.2 s
 *   48.0 MiB ┤        ────────
 *            │      ▂▄▆███▆▄
 *   24.0 MiB ┤   ──▄████████─────
 *            │ ▂▅███████████▅▃▂
 *          0 ┼──────┬──────┬──────
 *            0 s    0.5 s  1 s
 *                ▲ warm-up done (0.3 s)
 *
 * When resident memory is far above the heap it gets rows of its own below, so that neither is squashed. */
#include "report/chart.h"

#include "base/macros.h"
#include "base/units.h"
#include "query/trace_times.h"

enum {
        CHART_LABEL_WIDTH = 9, /* of the numbers at the left */
        CHART_MARGIN = 3,      /* " ┤" and a cell at the right */
        CHART_RSS_ROWS = 3,
        CHART_SHARE_SCALE = 3, /* resident memory above this many times the heap is drawn apart */
        CHART_MIN_TICK_GAP = 4,
        CHART_MAX_MARKS = 8,
};

size_t chart_n_columns(const struct style *s) {
        return s->width - CHART_LABEL_WIDTH - CHART_MARGIN;
}

/* A round number not below `bytes`, for the top of the axis. */
static uint64_t round_up(uint64_t bytes) {
        static const double steps[] = {1,   1.2, 1.6, 2,   2.4, 3,   4,   5,   6,   8,  10,
                                       12,  16,  20,  24,  32,  40,  48,  64,  80,  96, 128,
                                       160, 192, 256, 320, 400, 512, 640, 800, 1024};
        double unit = 1;

        if (bytes <= 10)
                return 10;
        while (unit * 1024 < (double)bytes)
                unit *= 1024;
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
                if (steps[i] * unit >= (double)bytes)
                        return unit_nearest(steps[i] * unit);
        return bytes;
}

/* One band of rows on one scale. */
struct band {
        const struct style *s;
        const struct chart *c;
        uint64_t top_bytes;
        unsigned n_rows;
        bool fills_live, draws_rss;
};

/* Eighths of a row, from the bottom of the band; anything above nothing shows. */
static uint64_t eighths(const struct band *b, uint64_t bytes) {
        uint64_t n = unit_nearest((double)bytes / (double)b->top_bytes * b->n_rows * 8);

        return bytes > 0 && n == 0 ? 1 : n;
}

static void add_cell(const struct band *b, struct str *line, const struct query_column *c,
                     unsigned row, const char **colour) {
        static const char *const utf8_fill[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        static const char *const ascii_fill[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
        uint64_t live = b->fills_live ? eighths(b, c->live_bytes) : 0, from = (uint64_t)row * 8;
        unsigned fill = live <= from ? 0 : (unsigned)MIN(live - from, 8);
        uint64_t rss = eighths(b, c->rss_bytes);
        const char *text = b->s->utf8 ? utf8_fill[fill] : ascii_fill[fill],
                   *want = fill ? b->s->live : "";

        /* inside the filled part only where it is well below: samples lag behind by a little */
        if (b->draws_rss && c->has_rss && rss > 0 && (rss - 1) / 8 == row &&
            (fill < 8 || rss + 16 <= live)) {
                text = b->s->utf8 ? "─" : "-";
                want = b->s->rss;
        }
        if (*colour != want) {
                str_add(line, b->s->plain);
                str_add(line, want);
                *colour = want;
        }
        str_add(line, text);
}

static void draw_row(const struct band *b, unsigned row, bool labelled) {
        struct unit_text t;
        struct str line = {0};
        const char *colour = "",
                   *tick = b->s->utf8 ? (labelled ? "┤" : "│") : (labelled ? "+" : "|");

        fprintf(b->s->out, "%s%*s %s%s", b->s->dim, CHART_LABEL_WIDTH,
                labelled ? unit_bytes(&t, b->top_bytes * (row + 1) / b->n_rows) : "", tick,
                b->s->plain);
        for (size_t i = 0; i < b->c->n_columns; i++)
                add_cell(b, &line, &b->c->columns[i], row, &colour);
        if (colour[0])
                str_add(&line, b->s->plain);
        while (line.n && line.bytes[line.n - 1] == ' ')
                line.bytes[--line.n] = '\0';
        fprintf(b->s->out, "%s\n", str_text(&line));
        str_done(&line);
}

static void draw_band(const struct band *b) {
        for (unsigned row = b->n_rows; row-- > 0;)
                draw_row(b, row,
                         row + 1 == b->n_rows || (b->n_rows > 4 && row + 1 == b->n_rows / 2));
}

/* ---- axis and marks -------------------------------------------------------------------------- */

static size_t column_of(const struct chart *c, uint64_t time_ns) {
        for (size_t i = 0; i < c->n_columns; i++)
                if (time_ns < c->columns[i].end_ns)
                        return i;
        return c->n_columns - 1;
}

/* A line with a sign in the column of a moment, and text beside it. */
static void draw_sign(const struct style *s, const struct chart *c, uint64_t time_ns,
                      const char *sign, const char *text) {
        struct str line = {0};
        size_t column = column_of(c, time_ns), width = str_width(text);

        str_pad(&line, ' ', CHART_LABEL_WIDTH + 2);
        if (column + 2 + width <= c->n_columns) {
                str_pad(&line, ' ', column);
                str_addf(&line, "%s %s", sign, text);
        } else {
                str_pad(&line, ' ', column - MIN(column, width + 1));
                str_addf(&line, "%s %s", text, sign);
        }
        fprintf(s->out, "%s%s%s\n", s->live, str_text(&line), s->plain);
        str_done(&line);
}

static void draw_peak(const struct style *s, const struct chart *c) {
        struct unit_text bytes, at;
        struct str text = {0};

        str_addf(&text, "peak %s at %s", unit_weight(&bytes, c->peak_bytes),
                 query_moment_text(c->q, &at, c->peak_ns));
        draw_sign(s, c, c->peak_ns, s->utf8 ? "▼" : "v", str_text(&text));
        str_done(&text);
}

static void draw_mark(const struct style *s, const struct chart *c, const struct chart_mark *m) {
        struct unit_text at;
        struct str clean = {0}, text = {0};

        str_add(&clean, m->is_snapshot ? "@" : "");
        style_add_clean(&clean, m->text);
        query_moment_text(c->q, &at, m->time_ns);
        style_add_cut(s, &text, str_text(&clean), c->n_columns - 6 - str_width(at.s));
        str_addf(&text, " (%s)", at.s);
        draw_sign(s, c, m->time_ns, s->utf8 ? "▲" : "^", str_text(&text));
        str_done(&clean);
        str_done(&text);
}

static void draw_marks(const struct style *s, const struct chart *c) {
        struct unit_text n;

        for (size_t i = 0; i < MIN(c->n_marks, (size_t)CHART_MAX_MARKS); i++)
                draw_mark(s, c, &c->marks[i]);
        if (c->n_marks > CHART_MAX_MARKS)
                fprintf(s->out, "%*s  and %s more marks: see --json\n", CHART_LABEL_WIDTH, "",
                        unit_count(&n, c->n_marks - CHART_MAX_MARKS));
}

/* A step of 1, 2 or 5 times a power of ten that gives up to `most` ticks. */
static uint64_t tick_step_ns(const struct chart *c, uint64_t span_ns, size_t most) {
        static const uint64_t steps[] = {1, 2, 5};
        uint64_t unit = query_has_times(c->q) ? 1000 : 1000000000;

        if (query_has_times(c->q) &&
            span_ns / MAX(most, 1u) > 20000000000u) { /* minutes and hours */
                static const uint64_t seconds[] = {30,   60,   120,   300,   600,  1800,
                                                   3600, 7200, 14400, 43200, 86400};

                for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
                        if (span_ns / (seconds[i] * 1000000000u) <= most)
                                return seconds[i] * 1000000000u;
        }
        for (;; unit *= 10)
                for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
                        if (span_ns / (steps[i] * unit) <= most || unit > UINT64_MAX / 100)
                                return steps[i] * unit;
}

/* Moments without times are numbered. */
static void tick_text(const struct chart *c, struct unit_text *t, uint64_t tick_ns) {
        if (query_has_times(c->q))
                unit_duration(t, tick_ns);
        else
                unit_count(t, tick_ns / 1000000000u);
}

static void draw_axis(const struct style *s, const struct chart *c) {
        uint64_t begin_ns = c->columns[0].begin_ns, end_ns = c->columns[c->n_columns - 1].end_ns;
        uint64_t step_ns = tick_step_ns(c, end_ns - begin_ns, c->n_columns / 12);
        struct str line = {0}, labels = {0};
        size_t next = 0;

        str_pad(&labels, ' ', CHART_LABEL_WIDTH + 2);
        for (size_t i = 0; i < c->n_columns; i++) {
                uint64_t tick_ns = (c->columns[i].begin_ns + step_ns - 1) / step_ns * step_ns;
                bool has_tick = tick_ns < c->columns[i].end_ns;
                struct unit_text t;

                str_add(&line, s->utf8 ? (has_tick ? "┬" : "─") : (has_tick ? "+" : "-"));
                if (!has_tick || i < next)
                        continue;
                if (tick_ns)
                        tick_text(c, &t, tick_ns);
                else
                        snprintf(t.s, sizeof(t.s), "0");
                if (i + str_width(t.s) > c->n_columns)
                        continue;
                style_pad_to(&labels, 0, CHART_LABEL_WIDTH + 2 + i);
                str_add(&labels, t.s);
                next = i + str_width(t.s) + CHART_MIN_TICK_GAP;
        }
        fprintf(s->out, "%s%*s %s%s\n%s%s\n", s->dim, CHART_LABEL_WIDTH, "0", s->utf8 ? "┼" : "+",
                str_text(&line), str_text(&labels), s->plain);
        str_done(&line);
        str_done(&labels);
}

static void draw_legend(const struct style *s, uint64_t rss_bytes, bool apart) {
        struct unit_text t;

        if (rss_bytes && !apart)
                fprintf(s->out, "%*s  %s%s%s live   %s%s%s resident memory, at most %s\n",
                        CHART_LABEL_WIDTH, "", s->live, s->utf8 ? "█" : "#", s->plain, s->rss,
                        s->utf8 ? "─" : "-", s->plain, unit_bytes(&t, rss_bytes));
}

void chart_draw(const struct style *s, const struct chart *c) {
        uint64_t live = c->peak_bytes, rss = 0;
        bool apart;

        for (size_t i = 0; i < c->n_columns; i++) {
                live = MAX(live, c->columns[i].live_bytes);
                rss = MAX(rss, c->columns[i].has_rss ? c->columns[i].rss_bytes : 0);
        }
        apart = rss > live * CHART_SHARE_SCALE;
        draw_peak(s, c);
        draw_band(&(struct band){s, c, round_up(apart ? live : MAX(live, rss)), c->n_rows, true,
                                 !apart});
        draw_axis(s, c);
        draw_marks(s, c);
        if (apart) {
                struct unit_text t;

                fprintf(s->out, "%*s  %sresident memory, at most %s%s\n", CHART_LABEL_WIDTH, "",
                        s->rss, unit_bytes(&t, rss), s->plain);
                draw_band(&(struct band){s, c, round_up(rss), CHART_RSS_ROWS, false, true});
        }
        draw_legend(s, rss, apart);
}
