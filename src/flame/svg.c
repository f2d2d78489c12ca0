/* SPDX-License-Identifier: MIT */
/* The picture as SVG: an image, without a script. Where a browser opens it, pointing at a box tells all of its figures. */
#include <stdlib.h>

#include "flame/flame_write.h"
#include "flame/picture_css.h"
#include "flame/text_cut.h"
#include "show/escape.h"

struct drawing {
        struct str *to;
        const struct graph *g;
        double width, scale; /* pixels; pixels a unit of the metric */
        double top;          /* where frames begin */
        double least;        /* units; narrower frames are put together */
        uint32_t
                max_depth; /* the last row with a frame wide enough for a letter: what is below is put together */
        uint32_t rows;
        double row; /* height of one */
};

/* ---- lines of text ----------------------------------------------------------------------------- */

/* Letters of unknown fonts: wide ones must fit. */
static double letter_width(bool is_title) {
        return is_title ? 9.8 : 7.2;
}

static void add_lines(struct str *to, const char *text, bool is_title, double width, double *y) {
        double step = is_title ? PICTURE_TITLE_LINE : PICTURE_WORDS_LINE;
        size_t cells = (size_t)((width - 2 * PICTURE_PAD) / letter_width(is_title)), n, skip;
        struct str line = {0};

        for (; *text; text += n + skip) {
                n = text_cut_line(text, cells, &skip);
                str_clear(&line);
                str_addn(&line, text, n);
                str_addf(to, "<text class=\"%s\" x=\"%d\" y=\"%.0f\">",
                         is_title ? "title" : "words", PICTURE_PAD, *y + step - 5);
                escape_add_xml(to, str_text(&line));
                str_add(to, "</text>\n");
                *y += step;
        }
        str_done(&line);
}

/* ---- legend ------------------------------------------------------------------------------------ */

static void add_key(struct str *to, unsigned hue, const char *text, double width, double *x,
                    double *y) {
        double needs = 18 + 7.2 * (double)text_cut_cells(text) + 14;

        if (*x > PICTURE_PAD && *x + needs > width - PICTURE_PAD) {
                *x = PICTURE_PAD;
                *y += 18;
        }
        str_addf(to,
                 "<rect class=\"h%u\" x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" rx=\"2\"/>",
                 hue, *x, *y + 2);
        str_addf(to, "<text class=\"words\" x=\"%.0f\" y=\"%.0f\">", *x + 17, *y + 12);
        escape_add_xml(to, text);
        str_add(to, "</text>\n");
        *x += needs;
}

static void add_legend(struct str *to, const struct graph *g, double width, double *y) {
        static const struct {
                unsigned hue;
                const char *of_two, *of_growth;
        } changes[] = {{HUE_GONE, "gone", NULL},
                       {HUE_SAME - 4, "smaller", "shrank"},
                       {HUE_SAME, "same", NULL},
                       {HUE_SAME + 2, "larger", NULL},
                       {HUE_SAME + 4, "over 2.5 times", "grew"},
                       {HUE_SAME + 5, "over 6 times", NULL},
                       {HUE_NEW, "new", NULL}};
        double x = PICTURE_PAD;
        struct str text = {0};

        for (size_t i = 0; graph_is_change(g) && i < ARRAY_SIZE(changes); i++)
                if (g->has_old || changes[i].of_growth)
                        add_key(to, changes[i].hue,
                                g->has_old ? changes[i].of_two : changes[i].of_growth, width, &x,
                                y);
        for (size_t i = 0; i < g->n_keys; i++) {
                str_clear(&text);
                text_cut_add_name(&text, g->texts->items.items[g->keys[i].crate], 30);
                if (g->keys[i].share >= 0.005)
                        str_addf(&text, " %.0f %%", graph_pct(g->keys[i].share));
                add_key(to, g->keys[i].hue, str_text(&text), width, &x, y);
        }
        if (x > PICTURE_PAD)
                *y += 22;
        str_done(&text);
}

/* ---- frames ------------------------------------------------------------------------------------ */

struct label {
        const char *name, *figures;
};

static void add_label(struct drawing *d, double x, double y, const char *classes,
                      const char *text) {
        str_addf(d->to, "<text%s x=\"%.1f\" y=\"%.0f\">", classes, x, y);
        escape_add_xml(d->to, text);
        str_add(d->to, "</text>");
}

/* The name, and where there is room its figures: below it, or at the right end. */
static void add_labels(struct drawing *d, double x, double y, double w, const struct label *l,
                       bool is_whole) {
        size_t room = w > 6 ? (size_t)((w - 6) / PICTURE_CELL) : 0;
        size_t n_figures = text_cut_cells(l->figures);
        bool is_high = d->row >= PICTURE_TWO_LINES;
        bool has_two = is_high && n_figures && n_figures <= room;
        bool has_figures = n_figures && !is_high && text_cut_cells(l->name) + n_figures + 2 <= room;
        struct str cut = {0};

        if (!is_whole || text_cut_cells(l->name) <= room)
                text_cut_add_name(&cut, l->name, room);
        if (cut.n)
                add_label(d, x + 3, y + (has_two ? d->row / 2 - 3 : d->row / 2 + 3.5), "",
                          str_text(&cut));
        if (cut.n && has_two)
                add_label(d, x + 3, y + d->row / 2 + 10, " class=\"n\"", l->figures);
        else if (cut.n && has_figures)
                add_label(d, x + w - 4 - PICTURE_CELL * (double)n_figures, y + d->row / 2 + 3.5,
                          " class=\"n\"", l->figures);
        str_done(&cut);
}

static void add_box(struct drawing *d, const struct graph_frame *f, double begin, double width,
                    const struct label *label, const char *title) {
        double x = PICTURE_PAD + begin * d->scale, w = width * d->scale;
        double y = d->top + (double)f->depth * d->row;

        str_addf(d->to, "<g class=\"f%s%s%s\" data-value=\"%lld\"", f->is_inlined ? " i" : "",
                 f->is_task ? " t" : "", f->is_unnamed ? " u" : "", (long long)f->is.value);
        if (d->g->has_old)
                str_addf(d->to, " data-was=\"%lld\"", (long long)f->was.value);
        str_add(d->to, "><title>");
        escape_add_xml(d->to, title);
        str_addf(
                d->to,
                "</title><rect class=\"h%u%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"/>",
                f->hue,
                f->shade == 1   ? " s1"
                : f->shade == 2 ? " s2"
                                : "",
                x, y, w > 3 ? w - 0.8 : w, d->row - 1);
        add_labels(d, x, y, w, label, f->is_rest);
        str_add(d->to, "</g>\n");
        d->rows = MAX(d->rows, f->depth + 1);
}

static void add_frame(struct drawing *d, const struct graph_frame *f) {
        struct str title = {0}, name = {0}, figures = {0};

        words_add_frame(&title, d->g, f);
        if (f->depth == 0) {
                str_add(&name, "all: ");
                words_add_figures(&name, d->g, f);
        } else {
                str_add(&name, d->g->texts->items.items[f->name]);
                words_add_brief(&figures, d->g, f);
        }
        add_box(d, f, f->begin, f->width, &(struct label){str_text(&name), str_text(&figures)},
                str_text(&title));
        str_done(&title);
        str_done(&name);
        str_done(&figures);
}

/* The children from `first` on are too narrow, or a rest: one bar for all of them. */
static void add_rest(struct drawing *d, const struct graph_frame *parent, uint32_t first) {
        struct graph_frame rest = {.is_rest = true,
                                   .depth = parent->depth + 1,
                                   .parent = d->g->frames.items[first].parent};
        struct str title = {0}, name = {0}, figures = {0};
        struct unit_text t;

        for (uint32_t i = first; i < parent->first_child + parent->n_children; i++) {
                const struct graph_frame *f = &d->g->frames.items[i];

                rest.width += f->width;
                rest.n_rest += f->is_rest ? f->n_rest : 1;
                graph_figure_add(&rest.is, &f->is);
                graph_figure_add(&rest.was, &f->was);
        }
        if (rest.width * d->scale < PICTURE_LEAST)
                return;
        rest.hue = graph_is_change(d->g) ? graph_change_hue(d->g, &rest) : HUE_REST;
        words_add_frame(&title, d->g, &rest);
        str_addf(&name, "%s more", unit_count(&t, rest.n_rest));
        words_add_brief(&figures, d->g, &rest);
        add_box(d, &rest, d->g->frames.items[first].begin, rest.width,
                &(struct label){str_text(&name), str_text(&figures)}, str_text(&title));
        str_done(&title);
        str_done(&name);
        str_done(&figures);
}

static void add_children(struct drawing *d, const struct graph_frame *f, bool *is_drawn) {
        uint32_t end = f->first_child + f->n_children;

        for (uint32_t i = f->first_child; i < end; i++) {
                const struct graph_frame *child = &d->g->frames.items[i];

                if (child->is_rest || child->width < d->least || child->depth > d->max_depth) {
                        add_rest(d, f, i);
                        break;
                }
                add_frame(d, child);
                is_drawn[i] = true;
        }
}

static int compare_widths_down(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x > y ? -1 : x < y;
}

/* The width from which on frames are drawn: wide enough to be seen, and not too many. */
static double least_drawn(const struct graph *g, double scale) {
        double least = PICTURE_LEAST / scale, *widths;

        if (g->frames.n <= PICTURE_MAX_DRAWN)
                return least;
        widths = calloc(g->frames.n, sizeof(double));
        if (!widths)
                abort();
        for (size_t i = 0; i < g->frames.n; i++)
                widths[i] = g->frames.items[i].width;
        qsort(widths, g->frames.n, sizeof(double), compare_widths_down);
        least = MAX(least, widths[PICTURE_MAX_DRAWN]);
        free(widths);
        return least;
}

/* Few rows are high ones. */
static double row_height(uint32_t n_rows) {
        uint32_t px = PICTURE_ROWS / n_rows;

        return MIN(MAX(px, (uint32_t)PICTURE_ROW), (uint32_t)PICTURE_MAX_ROW);
}

static void add_frames(struct drawing *d) {
        const struct graph *g = d->g;
        bool *is_drawn = calloc(g->frames.n, sizeof(bool));

        if (!is_drawn)
                abort();
        d->scale = g->frames.items[0].width > 0
                           ? (d->width - 2 * PICTURE_PAD) / g->frames.items[0].width
                           : 0;
        if (d->scale > 0) {
                d->least = least_drawn(g, d->scale);
                /* towers thinner than a letter say nothing and make the picture high */
                d->max_depth = graph_last_row(g, PICTURE_LETTER / d->scale);
                d->row = row_height(d->max_depth + 1);
                add_frame(d, &g->frames.items[0]);
                is_drawn[0] = true;
        }
        for (size_t i = 0; i < g->frames.n; i++) /* level by level */
                if (is_drawn[i])
                        add_children(d, &g->frames.items[i], is_drawn);
        free(is_drawn);
}

/* ---- all of it --------------------------------------------------------------------------------- */

void write_svg(struct str *to, const struct picture *p, const struct timeline *t,
               const struct flame_options *o) {
        struct str body = {0};
        struct drawing d = {.to = &body, .g = &p->graph, .width = o->width_px};
        double y = 8;

        str_add(&body, "<g id=\"head\">\n");
        add_lines(&body, p->words.title, true, d.width, &y);
        add_lines(&body, p->words.subtitle, false, d.width, &y);
        y += 4;
        add_legend(&body, &p->graph, d.width, &y);
        d.top = y;
        str_add(&body, "</g>\n<g id=\"frames\">\n");
        add_frames(&d);
        y = d.top + (double)d.rows * d.row + 4;
        str_add(&body, "</g>\n<g id=\"timeline\">\n");
        y = timeline_draw(&body, t, d.width, PICTURE_PAD, y);
        str_add(&body, "</g>\n<g id=\"note\">\n");
        add_lines(&body, p->words.note, false, d.width, &y);
        str_add(&body, "</g>\n");

        str_add(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- " FLAME_MARK " -->\n");
        str_addf(
                to,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"silt\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
                d.width, y + 8, d.width, y + 8);
        escape_add_xml(to, p->words.title);
        str_add(to, "\">\n<style>\n");
        str_addn(to, picture_css, sizeof(picture_css));
        str_add(to, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        str_addn(to, str_text(&body), body.n);
        str_add(to, "</svg>\n");
        str_done(&body);
}
