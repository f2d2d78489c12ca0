/* SPDX-License-Identifier: MIT */
/* An answer as text: the sentence, what limits it, and a table as wide as the terminal. */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"
#include "fleet/fleet_answer.h"
#include "fleet/server_rows.h"
#include "show/style.h"

enum {
        GAP = 2,
        MIN_PATH_WIDTH = 24,
        MAX_TEXT_WIDTH =
                32, /* of a name, but of a statement's own columns: they are what was asked */
        MAX_FRAMES = 64,
        BUILD_DIGITS = 12,
};

static bool is_number(enum fleet_cell_kind kind) {
        return kind != FLEET_CELL_TEXT && kind != FLEET_CELL_PATH && kind != FLEET_CELL_TIME;
}

static void add_bytes(struct str *to, double v, bool is_signed) {
        struct unit_text t;

        if (is_signed || v < 0)
                str_add(to, unit_bytes_signed(&t, (int64_t)fmax(fmin(v, 9e18), -9e18)));
        else
                str_add(to, unit_bytes(&t, unit_nearest(v)));
}

static void add_time(struct str *to, double s) {
        time_t t = (time_t)s;
        struct tm tm;
        char text[32];

        gmtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
        str_add(to, text);
}

/* Arrows and dots of our own, where they cannot be shown. */
static void add_shown(const struct style *s, struct str *to, const char *text) {
        static const struct {
                const char *from, *ascii;
        } signs[] = {{"←", "<-"}, {"…", "..."}, {"±", "+-"}};

        while (*text) {
                size_t i = s->utf8 ? ARRAY_SIZE(signs) : 0;

                while (i < ARRAY_SIZE(signs) &&
                       strncmp(text, signs[i].from, strlen(signs[i].from)) != 0)
                        i++;
                if (i < ARRAY_SIZE(signs)) {
                        str_add(to, signs[i].ascii);
                        text += strlen(signs[i].from);
                } else
                        str_addn(to, text++, 1);
        }
}

/* Of a row and a column, harmless. */
static void add_cell(const struct style *s, const struct fleet_answer *a, size_t row, size_t column,
                     struct str *to) {
        const struct fleet_column *c = &a->columns.items[column];
        const struct fleet_cell *cell = &a->cells.items[row * a->columns.n + column];
        struct unit_text n;
        struct str path = {0}, shown = {0};

        switch (c->kind) {
        case FLEET_CELL_TEXT:
                if (!cell->text)
                        str_add(to, "NULL");
                else if (strcmp(c->key, "build") == 0 && a->question->kind != FLEET_SQL) {
                        /* hex, by those who push honestly */
                        str_addf(&shown, "%.*s", BUILD_DIGITS, cell->text);
                        style_add_clean(to, str_text(&shown));
                        str_done(&shown);
                } else
                        style_add_clean(to, cell->text);
                break;
        case FLEET_CELL_BYTES: add_bytes(to, cell->number, false); break;
        case FLEET_CELL_CHANGE: add_bytes(to, cell->number, true); break;
        case FLEET_CELL_COUNT: str_add(to, unit_count(&n, unit_nearest(cell->number))); break;
        case FLEET_CELL_REAL: str_addf(to, "%.1f", cell->number); break;
        case FLEET_CELL_TIME: add_time(to, cell->number); break;
        case FLEET_CELL_PATH:
                if (*cell->text)
                        fleet_add_path(a, cell->text, MAX_FRAMES, &path);
                add_shown(s, &shown, str_text(&path));
                style_add_clean(to, str_text(&shown));
                str_done(&shown);
                str_done(&path);
                break;
        }
}

struct table {
        const struct style *style;
        const struct fleet_answer *a;
        size_t widths[SERVER_ROWS_MAX_COLUMNS];
        bool is_whole; /* for another program: call paths are not cut */
};

static void measure(struct table *t) {
        const struct fleet_answer *a = t->a;
        size_t used = 0, last = SIZE_MAX;

        for (size_t c = 0; c < a->columns.n; c++) {
                if (!a->columns.items[c].title)
                        continue;
                t->widths[c] = style_width(a->columns.items[c].title);
                for (size_t i = 0; i < a->n_rows; i++) {
                        struct str text = {0};

                        add_cell(t->style, a, i, c, &text);
                        t->widths[c] = MAX(t->widths[c], style_width(str_text(&text)));
                        str_done(&text);
                }
                if (a->columns.items[c].kind == FLEET_CELL_TEXT && a->question->kind != FLEET_SQL)
                        t->widths[c] = MIN(t->widths[c], (size_t)MAX_TEXT_WIDTH);
                if (a->columns.items[c].kind == FLEET_CELL_PATH)
                        last = c;
                else
                        used += t->widths[c] + GAP;
        }
        if (last != SIZE_MAX && !t->is_whole) /* call paths get the rest */
                t->widths[last] = MIN(t->widths[last],
                                      MAX(t->style->width > used ? t->style->width - used : 0,
                                          (size_t)MIN_PATH_WIDTH));
}

/* Call paths differ where they begin. */
static void add_begin(const struct style *style, struct str *to, const char *text, size_t width) {
        size_t used = 0, n_bytes = 0, n, cells;

        if (style_width(text) <= width) {
                str_add(to, text);
                return;
        }
        while (text[n_bytes]) {
                cells = str_first_width(text + n_bytes, &n);
                if (used + cells + (style->utf8 ? 1 : 3) > width)
                        break;
                used += cells;
                n_bytes += n;
        }
        str_addn(to, text, n_bytes);
        str_add(to, style->utf8 ? "…" : "...");
}

static void add_padded(const struct table *t, size_t column, const char *text, struct str *line) {
        size_t width = t->widths[column];
        struct str cut = {0};
        size_t n;

        if (t->a->columns.items[column].kind == FLEET_CELL_PATH)
                add_begin(t->style, &cut, text, width);
        else
                style_add_cut(t->style, &cut, text, width);
        n = style_width(str_text(&cut));
        if (line->n)
                str_pad(line, ' ', GAP);
        if (is_number(t->a->columns.items[column].kind) && n < width)
                str_pad(line, ' ', width - n);
        str_addn(line, str_text(&cut), cut.n);
        if (!is_number(t->a->columns.items[column].kind) && n < width)
                str_pad(line, ' ', width - n);
        str_done(&cut);
}

static void print_line(struct str *line, FILE *out) {
        while (line->n && line->bytes[line->n - 1] == ' ')
                line->n--;
        fprintf(out, "%.*s\n", (int)line->n, str_text(line));
        str_clear(line);
}

static void print_table(FILE *out, const struct style *style, const struct fleet_answer *a) {
        struct table t = {.style = style, .a = a, .is_whole = isatty(fileno(out)) != 1};
        struct str line = {0};

        measure(&t);
        for (size_t c = 0; c < a->columns.n; c++)
                if (a->columns.items[c].title) {
                        struct str title = {0}, name = {0};

                        add_shown(style, &name, a->columns.items[c].title);
                        style_add_clean(&title, str_text(&name));
                        str_done(&name);
                        add_padded(&t, c, str_text(&title), &line);
                        str_done(&title);
                }
        print_line(&line, out);
        for (size_t i = 0; i < a->n_rows; i++) {
                for (size_t c = 0; c < a->columns.n; c++)
                        if (a->columns.items[c].title) {
                                struct str text = {0};

                                add_cell(style, a, i, c, &text);
                                add_padded(&t, c, str_text(&text), &line);
                                str_done(&text);
                        }
                print_line(&line, out);
        }
        str_done(&line);
}

void fleet_print_text(FILE *out, const struct fleet_answer *a) {
        struct str sentence = {0}, whole = {0};
        struct style style;
        struct unit_text n;

        style_init(&style, out);
        style.width = style_columns(out);
        str_addn(&whole, a->sentence.bytes ? a->sentence.bytes : "", a->sentence.n);
        add_shown(&style, &sentence, str_text(&whole));
        str_done(&whole);
        fputs(style.bold, out);
        style_wrap(&style, str_text(&sentence), 0);
        fputs(style.plain, out);
        for (size_t i = 0; i < a->doubts.n; i++)
                style_wrap(&style, a->doubts.items[i], 0);
        str_done(&sentence);
        if (a->n_rows == 0)
                return;
        fputc('\n', out);
        print_table(out, &style, a);
        if (a->has_more)
                fprintf(out, "and more: --top %s shows them\n",
                        unit_count(&n, MIN((uint64_t)FLEET_MAX_ROWS, a->question->n_rows * 5)));
}
