/* SPDX-License-Identifier: MIT */
/* Resident memory over the recording's time, a line for each replay; one SVG without a script. */
#include "replay/whatif_rows.h"

enum { WIDTH = 1000, HEIGHT = 420, LEFT = 90, RIGHT = 20, TOP = 70, LEGEND_ROW = 20 };

/* Light and dark pages alike, and told apart by the colour-blind. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#7f7f7f", "#882255"};

/* Names of files may hold anything. */
static void add_text(struct str *to, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c == '<')
                        str_add(to, "&lt;");
                else if (c == '>')
                        str_add(to, "&gt;");
                else if (c == '&')
                        str_add(to, "&amp;");
                else if (c < ' ' || c >= 0x7f)
                        str_add(to, "?");
                else
                        str_addn(to, text, 1);
        }
}

static void put_text(FILE *out, double x, double y, const char *style, const char *text) {
        struct str safe = {0};

        add_text(&safe, text);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, style, str_text(&safe));
        str_done(&safe);
}

static double x_of(size_t column) {
        return LEFT + (double)(WIDTH - LEFT - RIGHT) * (double)column / (REPLAY_N_COLUMNS - 1);
}

static double y_of(uint64_t bytes, uint64_t most) {
        return TOP + (double)HEIGHT * (1 - (double)bytes / (double)MAX(most, 1u));
}

static uint64_t live_at(const struct whatif_row *row, size_t column) {
        for (size_t i = column + 1; i-- > 0;)
                if (row->result->columns[i].n_looks)
                        return row->result->columns[i].max_live_bytes;
        return 0;
}

static uint64_t find_most(const struct whatif *w) {
        uint64_t most = w->ops.peak_live_bytes;

        for (size_t i = 0; i < w->rows.n; i++)
                if (w->rows.items[i].has_result)
                        most = MAX(most, w->rows.items[i].peak_bytes);
        return most;
}

/* Round in the unit it is printed in, and four to eight of them. */
static uint64_t step_of(uint64_t most) {
        static const uint64_t steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
        uint64_t unit = 1;

        for (;; unit *= 1024)
                for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
                        if (steps[i] * unit >= most / 8 || unit >= UINT64_MAX / 1024 / 1024)
                                return steps[i] * unit;
}

static void draw_axes(FILE *out, const struct whatif *w, uint64_t most) {
        uint64_t step = step_of(most);
        struct unit_text t;

        for (uint64_t at = 0; at <= most; at += step) {
                double y = y_of(at, most);

                fprintf(out,
                        "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
                        LEFT, WIDTH - RIGHT, y, y);
                put_text(out, LEFT - 8, y + 4, "text-anchor=\"end\"", unit_bytes(&t, at));
        }
        put_text(out, LEFT, TOP + HEIGHT + 20, "", "0");
        put_text(out, WIDTH - RIGHT, TOP + HEIGHT + 20, "text-anchor=\"end\"",
                 unit_duration(&t, w->ops.duration_us * 1000));
}

/* What was asked for, as an area behind the lines. */
static void draw_live(FILE *out, const struct whatif_row *row, uint64_t most) {
        fprintf(out, "<path fill=\"#888\" fill-opacity=\"0.25\" d=\"M%d %d", LEFT, TOP + HEIGHT);
        for (size_t i = 0; i < REPLAY_N_COLUMNS; i++)
                fprintf(out, "L%.1f %.1f", x_of(i), y_of(live_at(row, i), most));
        fprintf(out, "L%d %dZ\"/>\n", WIDTH - RIGHT, TOP + HEIGHT);
}

static void draw_line(FILE *out, const struct whatif *w, const struct whatif_row *row,
                      const char *colour, uint64_t most) {
        fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"", colour);
        for (size_t i = 0; i < REPLAY_N_COLUMNS; i++)
                fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(i),
                        y_of(whatif_column_bytes(w, row, i), most));
        fputs("\"/>\n", out);
}

static void draw_key(FILE *out, const char *colour, const char *text, double y) {
        fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"10\" fill=\"%s\"/>\n", LEFT,
                y - 9, colour);
        put_text(out, LEFT + 22, y, "", text);
}

static void draw_legend(FILE *out, const struct whatif *w) {
        double y = TOP + HEIGHT + 46;
        struct unit_text a, b;
        struct str text = {0};

        draw_key(out, "#cfcfcf", "live bytes", y);
        for (size_t i = 0; i < w->rows.n; i++) {
                const struct whatif_row *row = &w->rows.items[i];

                if (!row->has_result)
                        continue;
                y += LEGEND_ROW;
                str_clear(&text);
                contender_add_name(row->contender, &text);
                str_addf(&text, ": peak %s, end %s%s", unit_bytes(&a, row->peak_bytes),
                         unit_bytes(&b, row->end_bytes),
                         i == w->reference && w->is_recorded ? " (recorded)" : "");
                draw_key(out, colours[i % ARRAY_SIZE(colours)], str_text(&text), y);
        }
        str_done(&text);
}

void whatif_draw(FILE *out, const struct whatif *w) {
        uint64_t most = find_most(w);
        int height = TOP + HEIGHT + 60 + LEGEND_ROW * (int)w->rows.n;
        const struct whatif_row *with_live = NULL;
        struct str advice = {0};

        whatif_add_advice(w, true, &advice);
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n" WHATIF_MARK
                "\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                WIDTH, height, WIDTH, height);
        put_text(out, 20, 28, "font-size=\"16\" font-weight=\"bold\"", str_text(&advice));
        put_text(out, 20, 50, "fill=\"#555\"",
                 "Resident memory of the heap over the recorded time, replayed");
        draw_axes(out, w, most);
        for (size_t i = 0; i < w->rows.n; i++)
                if (w->rows.items[i].has_result && !with_live)
                        with_live = &w->rows.items[i];
        if (with_live)
                draw_live(out, with_live, most);
        for (size_t i = 0; i < w->rows.n; i++)
                if (w->rows.items[i].has_result)
                        draw_line(out, w, &w->rows.items[i], colours[i % ARRAY_SIZE(colours)],
                                  most);
        draw_legend(out, w);
        fputs("</svg>\n", out);
        str_done(&advice);
}
