/* SPDX-License-Identifier: MIT */
#include "sql/sql_grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/visible.h"

enum { GRID_MOST_RULE = 60, GAP = 2, TALL_INDENT = 2 };

void grid_init(struct grid *g, FILE *out) {
        *g = (struct grid){.is_terminal = isatty(fileno(out)) == 1};
        style_init(&g->s, out);
        g->terminal_width = style_columns(out);
}

void grid_done(struct grid *g) {
        str_done(&g->names);
        str_done(&g->bytes);
        str_done(&g->line);
        vec_free(&g->columns);
        vec_free(&g->cells);
}

/* ---- taking ------------------------------------------------------------------------------------ */

/* Bytes that are shown as they are, in a cell each. */
static size_t n_plain(const char *text, size_t n_bytes) {
        size_t n = 0;

        while (n < n_bytes && text[n] >= ' ' && text[n] < 0x7f)
                n++;
        return n;
}

static size_t width_of(const char *text, size_t n_bytes) {
        size_t n = n_plain(text, n_bytes);

        return n + style_width_n(text + n, n_bytes - n);
}

static void add_visible(struct str *to, const char *text, size_t n_bytes) {
        char shown[VISIBLE_MAX];
        size_t n_shown;

        for (size_t i = 0; i < n_bytes;) {
                size_t n = n_plain(text + i, n_bytes - i);

                if (n) {
                        str_addn(to, text + i, n);
                } else {
                        n = visible_first(text + i, n_bytes - i, shown, &n_shown);
                        str_addn(to, shown, n_shown);
                }
                i += n;
        }
}

void grid_name(struct grid *g, const char *name, enum grid_kind kind) {
        struct grid_column *c = vec_add(&g->columns);

        c->kind = kind;
        c->name_off = g->names.n;
        add_visible(&g->names, name, strlen(name));
        c->need = width_of(g->names.bytes + c->name_off, g->names.n - c->name_off);
        str_addn(&g->names, "", 1);
}

static const char *name_of(const struct grid *g, size_t column) {
        return g->names.bytes + g->columns.items[column].name_off;
}

static size_t line_bytes(const char *text, size_t n) {
        const char *end = memchr(text, '\n', n);

        return end ? (size_t)(end - text) : n;
}

static size_t cells_needed(const char *text, size_t n) {
        size_t most = 0, len;

        for (size_t i = 0; i < n; i += len + 1) {
                len = line_bytes(text + i, n - i);
                most = MAX(most, width_of(text + i, len));
        }
        return most;
}

static void take(struct grid *g, size_t off, bool is_number) {
        struct grid_column *c = &g->columns.items[g->cells.n % g->columns.n];
        size_t n = g->bytes.n - off, need = n ? cells_needed(g->bytes.bytes + off, n) : 0;

        vec_push(&g->cells, (struct grid_cell){off, n, need, is_number,
                                               n && memchr(g->bytes.bytes + off, '\n', n)});
        if (!n)
                return;
        c->need = MAX(c->need, need);
        c->has_value = true;
        c->is_text |= !is_number;
}

void grid_number(struct grid *g, const char *text) {
        size_t off = g->bytes.n;

        str_add(&g->bytes, text);
        take(g, off, true);
}

void grid_null(struct grid *g, const char *text) {
        struct grid_column *c = &g->columns.items[g->cells.n % g->columns.n];
        size_t n = strlen(text);

        vec_push(&g->cells, (struct grid_cell){g->bytes.n, n, n, true, false});
        str_addn(&g->bytes, text, n);
        c->need = MAX(c->need, n);
}

/* "12.3 MiB", "-1.25 s", "1,234", "99 %": what bytes() and its like make reads as the number it is of. */
static bool is_figure(const char *text, size_t n) {
        static const char *const units[] = {"",  "B", "KiB", "MiB", "GiB", "TiB", "PiB",      "EiB",
                                            "s", "%", "ms",  "us",  "ns",  "min", "\xc2\xb5s"};
        size_t i = n && (text[0] == '-' || text[0] == '+'), begin = i;

        while (i < n && ((text[i] >= '0' && text[i] <= '9') || text[i] == ',' || text[i] == '.'))
                i++;
        if (i == begin)
                return false;
        if (i < n && text[i] == ' ')
                i++;
        for (size_t u = 0; u < ARRAY_SIZE(units); u++)
                if (strlen(units[u]) == n - i && memcmp(text + i, units[u], n - i) == 0)
                        return true;
        return false;
}

/* Line ends stay, others that steer a terminal do not; blanks and empty lines at the end go. */
void grid_text(struct grid *g, const char *text, size_t n_bytes) {
        size_t off = g->bytes.n, len;

        while (n_bytes && (text[n_bytes - 1] == '\n' || text[n_bytes - 1] == ' '))
                n_bytes--;
        for (size_t i = 0; i < n_bytes; i += len + 1) {
                if (i)
                        str_addn(&g->bytes, "\n", 1);
                len = line_bytes(text + i, n_bytes - i);
                add_visible(&g->bytes, text + i, len);
        }
        take(g, off, is_figure(text, n_bytes));
}

/* ---- fitting ----------------------------------------------------------------------------------- */

/* Of a column where no text takes more than `most`. */
static size_t width_at(const struct grid_column *c, size_t most) {
        if (!c->is_text || c->kind == GRID_COMMAND)
                return c->need;
        return MIN(c->need, c->kind == GRID_PROSE ? MAX(most, (size_t)GRID_LEAST_PROSE) : most);
}

/* Cells of a row then. */
static size_t row_width(const struct grid *g, size_t most) {
        size_t sum = g->columns.n ? (g->columns.n - 1) * GAP : 0;

        for (size_t i = 0; i < g->columns.n; i++)
                sum += width_at(&g->columns.items[i], most);
        return sum;
}

/* The most that texts may take so that a row fits; 0: it does not. */
static size_t most_for_texts(const struct grid *g) {
        size_t low = GRID_LEAST_TEXT, high = g->terminal_width;

        if (!g->is_terminal || row_width(g, SIZE_MAX) <= g->terminal_width)
                return SIZE_MAX;
        if (row_width(g, low) > g->terminal_width)
                return 0;
        while (low < high) {
                size_t middle = low + (high - low + 1) / 2;

                if (row_width(g, middle) <= g->terminal_width)
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

static void fit(struct grid *g) {
        size_t most = most_for_texts(g), left;

        if (!most) {
                /* rows that stand are not followed by rows that lie */
                g->is_tall |= !g->is_begun;
                most = GRID_LEAST_TEXT;
        }
        left = row_width(g, most) < g->terminal_width ? g->terminal_width - row_width(g, most) : 0;
        for (size_t i = 0; i < g->columns.n; i++) {
                struct grid_column *c = &g->columns.items[i];

                c->width = width_at(c, most);
                if (c->width < c->need && left) {
                        c->width++;
                        left--;
                }
        }
}

/* ---- printing ---------------------------------------------------------------------------------- */

static void add_padded(struct grid *g, const char *text, size_t width, bool is_right,
                       bool is_last) {
        size_t begin = g->line.n, have = str_width(text);

        if (is_right && have < width)
                str_pad(&g->line, ' ', width - have);
        str_add(&g->line, text);
        if (!is_right && !is_last)
                style_pad_to(&g->line, begin, width);
}

static void put_line(struct grid *g, const char *before, const char *after) {
        while (g->line.n && g->line.bytes[g->line.n - 1] == ' ')
                g->line.n--;
        fputs(before, g->s.out);
        fwrite(g->line.n ? g->line.bytes : "", 1, g->line.n, g->s.out);
        fputs(after, g->s.out);
        fputc('\n', g->s.out);
        str_clear(&g->line);
}

static bool is_right(const struct grid_column *c) {
        return c->has_value && !c->is_text;
}

static void put_names(struct grid *g) {
        for (size_t i = 0; i < g->columns.n; i++) {
                const struct grid_column *c = &g->columns.items[i];

                if (i)
                        str_pad(&g->line, ' ', GAP);
                add_padded(g, name_of(g, i), c->width, is_right(c), i + 1 == g->columns.n);
        }
        put_line(g, g->s.bold, g->s.plain);
        for (size_t i = 0; i < g->columns.n; i++) {
                size_t width = g->columns.items[i].width;

                if (i)
                        str_pad(&g->line, ' ', GAP);
                /* a call path of a thousand cells, in a pipe, is not underlined all along */
                if (!g->is_terminal && i + 1 == g->columns.n)
                        width = MIN(width, (size_t)GRID_MOST_RULE);
                for (size_t k = 0; k < width; k++)
                        str_add(&g->line, g->s.utf8 ? "─" : "-");
        }
        put_line(g, g->s.dim, g->s.plain);
}

/* Line `line` of a cell; "": it has no such line. */
static void add_cell_line(const struct grid *g, const struct grid_cell *c, size_t line,
                          size_t width, struct str *to) {
        const char *text = g->bytes.bytes + c->off;
        size_t n = c->n, len = n ? line_bytes(text, n) : 0;
        struct str whole = {0};

        for (; line && n; line--) {
                size_t skip = MIN(len + 1, n);

                text += skip;
                n -= skip;
                len = n ? line_bytes(text, n) : 0;
        }
        if (!n)
                return;
        str_addn(&whole, text, len);
        if (g->is_terminal && !c->is_number)
                style_add_cut(&g->s, to, str_text(&whole), width);
        else
                str_add(to, str_text(&whole));
        str_done(&whole);
}

static size_t n_lines(const struct grid *g, const struct grid_cell *c) {
        size_t n = 1;

        for (size_t i = 0; i < c->n; i++)
                n += g->bytes.bytes[c->off + i] == '\n';
        return n;
}

/* Each cell one line that fits: what most rows are. */
static bool put_simple_row(struct grid *g, const struct grid_cell *cells) {
        for (size_t i = 0; i < g->columns.n; i++)
                if (cells[i].has_lines || cells[i].need > g->columns.items[i].width)
                        return false;
        for (size_t i = 0; i < g->columns.n; i++) {
                const struct grid_column *c = &g->columns.items[i];
                size_t blanks = c->width - cells[i].need;
                bool stands_right = cells[i].is_number && is_right(c);

                str_pad(&g->line, ' ', (i ? GAP : 0) + (stands_right ? blanks : 0));
                if (cells[i].n)
                        str_addn(&g->line, g->bytes.bytes + cells[i].off, cells[i].n);
                str_pad(&g->line, ' ', stands_right ? 0 : blanks);
        }
        put_line(g, "", "");
        return true;
}

static void put_row(struct grid *g, const struct grid_cell *cells) {
        size_t lines = 1;
        struct str part = {0};

        for (size_t i = 0; i < g->columns.n; i++)
                lines = MAX(lines, n_lines(g, &cells[i]));
        for (size_t line = 0; line < lines; line++) {
                for (size_t i = 0; i < g->columns.n; i++) {
                        const struct grid_column *c = &g->columns.items[i];

                        if (i)
                                str_pad(&g->line, ' ', GAP);
                        str_clear(&part);
                        add_cell_line(g, &cells[i], line, c->width, &part);
                        add_padded(g, str_text(&part), c->width, cells[i].is_number && is_right(c),
                                   i + 1 == g->columns.n);
                }
                put_line(g, "", "");
        }
        str_done(&part);
}

/* Behind what is in g->line, wrapped. */
static void put_prose(struct grid *g, const struct grid_cell *c, size_t line, size_t begin) {
        struct str text = {0};

        add_cell_line(g, c, line, SIZE_MAX, &text);
        fwrite(g->line.bytes, 1, g->line.n, g->s.out);
        str_clear(&g->line);
        style_wrap(&g->s, str_text(&text), begin);
        str_done(&text);
}

static void put_tall(struct grid *g, const struct grid_cell *cells) {
        size_t names = 0, begin, room;

        for (size_t i = 0; i < g->columns.n; i++)
                names = MAX(names, str_width(name_of(g, i)));
        begin = TALL_INDENT + names + GAP;
        room = g->terminal_width > begin + GRID_LEAST_TEXT ? g->terminal_width - begin
                                                           : GRID_LEAST_TEXT;
        str_addf(&g->line, "row %llu", (unsigned long long)g->n_rows_printed + 1);
        put_line(g, g->s.bold, g->s.plain);
        for (size_t i = 0; i < g->columns.n; i++) {
                enum grid_kind kind = g->columns.items[i].kind;

                for (size_t line = 0, n = n_lines(g, &cells[i]); line < n; line++) {
                        str_pad(&g->line, ' ', TALL_INDENT);
                        add_padded(g, line ? "" : name_of(g, i), names + GAP, false, false);
                        if (kind == GRID_PROSE) {
                                put_prose(g, &cells[i], line, begin);
                                continue;
                        }
                        add_cell_line(g, &cells[i], line, kind == GRID_COMMAND ? SIZE_MAX : room,
                                      &g->line);
                        put_line(g, "", "");
                }
        }
}

void grid_flush(struct grid *g) {
        fit(g);
        if (!g->is_begun && !g->is_tall && !g->without_names)
                put_names(g);
        g->is_begun = true;
        for (size_t i = 0; i + g->columns.n <= g->cells.n && g->columns.n; i += g->columns.n) {
                if (g->is_tall)
                        put_tall(g, &g->cells.items[i]);
                else if (!put_simple_row(g, &g->cells.items[i]))
                        put_row(g, &g->cells.items[i]);
                g->n_rows_printed++;
        }
        vec_clear(&g->cells);
        str_clear(&g->bytes);
}
