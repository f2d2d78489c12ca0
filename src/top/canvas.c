/* SPDX-License-Identifier: MIT */
#include "top/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "base/visible.h"

void canvas_begin(struct canvas *c, size_t width, size_t height, bool utf8) {
        size_t n = MAX(width * height, (size_t)1);

        if (width * height != c->width * c->height || !c->cells) {
                free(c->cells);
                c->cells = malloc(n * sizeof(*c->cells));
                if (!c->cells)
                        abort();
        }
        c->width = width;
        c->height = height;
        c->utf8 = utf8;
        c->spots.n = 0;
        for (size_t i = 0; i < n; i++)
                c->cells[i] = (struct canvas_cell){.text = " "};
}

void canvas_done(struct canvas *c) {
        free(c->cells);
        vec_free(&c->spots);
        *c = (struct canvas){0};
}

static struct canvas_cell *cell_at(const struct canvas *c, size_t row, size_t col) {
        return &c->cells[row * c->width + col];
}

const struct canvas_cell *canvas_cell(const struct canvas *c, size_t row, size_t col) {
        return cell_at(c, row, col);
}

/* ---- text ---------------------------------------------------------------------------------------- */

/* One character that may be shown, at a column; returns the column behind it, or `end` + 1 where there is no room. */
static size_t put_character(struct canvas *c, size_t row, size_t col, size_t end,
                            enum canvas_ink ink, const char *text, size_t n_bytes) {
        size_t ignored, width;
        struct canvas_cell *cell;
        char one[CANVAS_CELL_BYTES] = "?";

        if (n_bytes < sizeof(one) && (c->utf8 || (unsigned char)text[0] < 0x80)) {
                memcpy(one, text, n_bytes);
                one[n_bytes] = 0;
        }
        width = str_first_width(one, &ignored);
        if (width == 0) { /* an accent: it stands upon the cell before, where that has room */
                char *before = col ? cell_at(c, row, col - 1)->text : NULL;
                size_t n = before ? strlen(before) : CANVAS_CELL_BYTES;

                if (n + n_bytes < CANVAS_CELL_BYTES)
                        memcpy(before + n, one, n_bytes + 1);
                return col;
        }
        if (col + width > end)
                return end + 1;
        cell = cell_at(c, row, col);
        memcpy(cell->text, one, sizeof(one));
        cell->ink = (uint8_t)ink;
        if (width == 2)
                *cell_at(c, row, col + 1) = (struct canvas_cell){.ink = (uint8_t)ink};
        return col + width;
}

size_t canvas_put_within(struct canvas *c, size_t row, size_t col, size_t end, enum canvas_ink ink,
                         const char *text) {
        size_t n = strlen(text), n_shown;
        char shown[VISIBLE_MAX];

        end = MIN(end, c->width);
        if (row >= c->height)
                return col;
        while (n > 0 && col < end) {
                size_t used = visible_first(text, n, shown, &n_shown);

                /* one character, or an escape of several */
                for (size_t at = 0; at < n_shown && col < end;) {
                        size_t len = n_shown - at;

                        (void)str_first_width(shown + at, &len);
                        col = put_character(c, row, col, end, ink, shown + at,
                                            MIN(len, n_shown - at));
                        at += MAX(len, (size_t)1);
                }
                text += used;
                n -= used;
        }
        return MIN(col, end);
}

size_t canvas_put(struct canvas *c, size_t row, size_t col, enum canvas_ink ink, const char *text) {
        return canvas_put_within(c, row, col, c->width, ink, text);
}

void canvas_put_right(struct canvas *c, size_t row, size_t end, enum canvas_ink ink,
                      const char *text) {
        size_t width = str_width(text);

        if (width <= end)
                canvas_put_within(c, row, end - width, end, ink, text);
}

void canvas_paint_row(struct canvas *c, size_t row, enum canvas_ink ink) {
        for (size_t i = 0; row < c->height && i < c->width; i++)
                cell_at(c, row, i)->ink = (uint8_t)ink;
}

void canvas_blank_row(struct canvas *c, size_t row) {
        for (size_t i = 0; row < c->height && i < c->width; i++)
                *cell_at(c, row, i) = (struct canvas_cell){.text = " "};
}

/* How many bytes of text the next line has: words as long as they fit, or a piece of a word. */
static size_t line_bytes(const char *text, size_t width) {
        size_t at = 0, col = 0, last = 0, n;

        while (text[at]) {
                size_t w = str_first_width(text + at, &n);

                if (col + w > width)
                        return last ? last : MAX(at, (size_t)1);
                if (text[at] == ' ')
                        last = at;
                col += w;
                at += n;
        }
        return at;
}

/* There is more than the row has room for. */
static void put_cut(struct canvas *c, size_t row, enum canvas_ink ink) {
        const char *mark = c->utf8 ? "…" : "...";
        size_t width = str_width(mark);

        if (c->width > width)
                canvas_put_right(c, row, c->width, ink, mark);
}

size_t canvas_put_wrapped(struct canvas *c, size_t row, size_t n_rows, enum canvas_ink ink,
                          const char *text) {
        struct str clean = {0}, line = {0};
        const char *rest;
        size_t n = 0;

        visible_add(&clean, text);
        rest = str_text(&clean);
        while (*rest && n < n_rows && c->width) {
                size_t len = n + 1 == n_rows ? strlen(rest) : line_bytes(rest, c->width);

                str_clear(&line);
                str_addn(&line, rest, len);
                canvas_put(c, row + n, 0, ink, str_text(&line));
                if (str_width(str_text(&line)) > c->width)
                        put_cut(c, row + n, ink);
                n++;
                rest += len;
                rest += strspn(rest, " ");
        }
        str_done(&clean);
        str_done(&line);
        return n;
}

/* ---- clicks -------------------------------------------------------------------------------------- */

void canvas_add_spot(struct canvas *c, size_t row, size_t begin, size_t end, int key) {
        vec_push(&c->spots, (struct canvas_spot){row, begin, end, key});
}

int canvas_key_at(const struct canvas *c, size_t row, size_t col) {
        for (size_t i = 0; i < c->spots.n; i++) {
                const struct canvas_spot *s = &c->spots.items[i];

                if (s->row == row && col >= s->begin && col < s->end)
                        return s->key;
        }
        return 0;
}

void canvas_add_line(const struct canvas *c, size_t row, struct str *to) {
        size_t n = to->n;

        for (size_t i = 0; i < c->width; i++) {
                str_add(to, cell_at(c, row, i)->text);
                if (strcmp(cell_at(c, row, i)->text, " ") != 0)
                        n = to->n;
        }
        to->n = n;
        if (to->bytes)
                to->bytes[n] = 0;
}
