/* SPDX-License-Identifier: MIT */
/* One moment as SVG: the same pages three times, by how full, how old and whose they are. An image, without a script. */
#include "base/units.h"
#include "bill/heap_css.h"
#include "bill/heap_picture.h"
#include "bill/heap_write.h"
#include "show/escape.h"

enum { WIDTH = 1200, PAD = 12, MIN_CELL = 5, MAX_CELL = 14 };

struct grid {
        struct str *to;
        const struct heap_frame *f;
        const struct heap_cells *h;
        unsigned cell, columns;
        double y;
};

/* Where a cell stands: those apart have a blank place before them. */
static size_t place_of(const struct heap_frame *f, size_t i, size_t *at) {
        if (f->cells.items[i].is_apart)
                (*at)++;
        return (*at)++;
}

static unsigned cell_px(size_t n) {
        unsigned px = MAX_CELL;

        while (px > MIN_CELL && (size_t)((WIDTH - 2 * PAD) / px) * (300 / px) < n)
                px--;
        return px;
}

static void add_text(struct str *to, const char *class, double x, double y, const char *text) {
        str_addf(to, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">", class, x, y);
        escape_add_xml(to, text);
        str_add(to, "</text>\n");
}

static unsigned colour_full(const struct grid *g, const struct heap_cell *c) {
        (void)g;
        return heap_cell_fill(c);
}

static unsigned colour_age(const struct grid *g, const struct heap_cell *c) {
        return heap_cell_age(c, g->f->time_ns);
}

static unsigned colour_owner(const struct grid *g, const struct heap_cell *c) {
        (void)g;
        return c->owner;
}

/* A key to the colours, in a row. */
static void add_key(struct grid *g, double *x, const char *class, unsigned colour,
                    const char *text) {
        double needs = 20 + 7.0 * (double)str_width(text) + 14;

        if (*x + needs > WIDTH - PAD && *x > PAD) {
                *x = PAD;
                g->y += 18;
        }
        str_addf(g->to, "<rect class=\"%s%u\" x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\"/>",
                 class, colour, *x, g->y);
        add_text(g->to, "words", *x + 17, g->y + 10, text);
        *x += needs;
}

struct panel {
        const char *title, *class;
        unsigned (*colour)(const struct grid *g, const struct heap_cell *c);
        unsigned n_colours;
};

static void add_keys(struct grid *g, const struct panel *p) {
        static const char *const fills[HEAP_N_FILLS] = {"free", "little live",  NULL, NULL,
                                                        "half", NULL,           NULL, NULL,
                                                        "full", "not in memory"};
        static const char *const ages[HEAP_N_AGES] = {
                "allocated just now",      NULL, "in the last third", NULL, "near the beginning",
                "nothing live, or unknown"};
        double x = PAD;

        if (p->colour == colour_owner) {
                struct str name = {0};

                for (size_t i = 0; i < g->h->owners.n; i++) {
                        str_clear(&name);
                        str_addn(&name, str_text(&g->h->owners.items[i].name),
                                 MIN(g->h->owners.items[i].name.n, (size_t)48));
                        add_key(g, &x, p->class, (unsigned)i, str_text(&name));
                }
                add_key(g, &x, p->class, HEAP_MAX_OWNERS, "others, or unknown");
                add_key(g, &x, p->class, HEAP_MAX_OWNERS + 1, "nobody");
                str_done(&name);
        } else {
                const char *const *names = p->colour == colour_full ? fills : ages;

                for (unsigned i = 0; i < p->n_colours; i++)
                        if (names[i])
                                add_key(g, &x, p->class, i, names[i]);
        }
        g->y += 22;
}

static void add_title(struct grid *g, const struct heap_cell *c) {
        struct unit_text size, live, blocks, age;
        struct str text = {0};

        str_addf(&text, "0x%llx, %s: %s live in %s block%s", (unsigned long long)c->begin,
                 unit_bytes(&size, c->size_bytes), unit_bytes(&live, c->live_bytes),
                 unit_count(&blocks, c->n_blocks), unit_s(c->n_blocks));
        if (c->resident_bytes < c->size_bytes)
                str_addf(&text, ", %s in memory", unit_bytes(&size, c->resident_bytes));
        if (c->owner < g->h->owners.n)
                str_addf(&text, ", most of %s", str_text(&g->h->owners.items[c->owner].name));
        if (c->newest_ns)
                str_addf(&text, ", newest at %s", unit_duration(&age, c->newest_ns));
        str_add(g->to, "<title>");
        escape_add_xml(g->to, str_text(&text));
        str_add(g->to, "</title>");
        str_done(&text);
}

/* Boxes with words to point at, in the first panel; in the others one path a colour. */
static size_t add_boxes(struct grid *g, const struct panel *p, bool has_titles) {
        size_t rows = 0;

        for (unsigned colour = 0; colour < p->n_colours; colour++) {
                size_t at = 0, n = 0;

                for (size_t i = 0; i < g->f->cells.n; i++) {
                        const struct heap_cell *c = &g->f->cells.items[i];
                        size_t place = place_of(g->f, i, &at);
                        unsigned px = g->cell;
                        size_t row = place / g->columns;
                        double x = PAD + (double)(place % g->columns) * px,
                               y = g->y + (double)row * px;

                        rows = MAX(rows, row + 1);
                        if (p->colour(g, c) != colour)
                                continue;
                        if (has_titles) {
                                str_addf(
                                        g->to,
                                        "<rect class=\"%s%u\" x=\"%.0f\" y=\"%.0f\" width=\"%u\" height=\"%u\">",
                                        p->class, colour, x, y, px - 1, px - 1);
                                add_title(g, c);
                                str_add(g->to, "</rect>\n");
                                continue;
                        }
                        if (!n++)
                                str_addf(g->to, "<path class=\"%s%u\" d=\"", p->class, colour);
                        str_addf(g->to, "M%.0f %.0fh%uv%uh-%uz", x, y, px - 1, px - 1, px - 1);
                }
                if (n)
                        str_add(g->to, "\"/>\n");
        }
        return rows;
}

void heap_write_svg(struct str *to, const struct heap_cells *h, const char *title,
                    const char *subtitle) {
        static const struct panel panels[] = {
                {"How full", "f", colour_full, HEAP_N_FILLS},
                {"Whose: the function with most bytes", "o", colour_owner, HEAP_MAX_OWNERS + 2},
                {"How old: when its newest block was allocated", "a", colour_age, HEAP_N_AGES},
        };
        struct str body = {0};
        struct grid g = {.to = &body, .h = h, .f = &h->frames.items[0], .y = 16};

        g.cell = cell_px(g.f->cells.n);
        g.columns = (WIDTH - 2 * PAD) / g.cell;
        add_text(&body, "title", PAD, g.y + 8, title);
        add_text(&body, "words", PAD, g.y + 28, subtitle);
        g.y += 44;
        for (size_t i = 0; i < ARRAY_SIZE(panels); i++) {
                add_text(&body, "head", PAD, g.y + 14, panels[i].title);
                g.y += 24;
                add_keys(&g, &panels[i]);
                g.y += (double)add_boxes(&g, &panels[i], i == 0) * g.cell + 14;
        }
        str_add(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- " HEAP_MARK " -->\n");
        str_addf(
                to,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"silt\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"",
                WIDTH, g.y, WIDTH, g.y);
        escape_add_xml(to, title);
        str_add(to, "\">\n<style>\n");
        str_addn(to, heap_css, sizeof(heap_css));
        str_add(to, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        str_addn(to, str_text(&body), body.n);
        str_add(to, "</svg>\n");
        str_done(&body);
}
