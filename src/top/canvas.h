/* SPDX-License-Identifier: MIT */
/* A screen in memory: cells with a character and an ink, and which of them a click means something on. Whoever draws does not know
 * curses, and a test reads the lines. Texts may hold anything: what reaches a cell is harmless. Inside top/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

enum canvas_ink {
        INK_PLAIN,
        INK_BOLD,
        INK_DIM,
        INK_LIVE, /* what is on the heap */
        INK_RSS,  /* what is resident */
        INK_ALARM,
        INK_BAND,   /* headings of columns */
        INK_CHOSEN, /* the row that keys are about */
        INK_KEY,    /* keys on the last line */
};

enum { CANVAS_CELL_BYTES = 16 };

struct canvas_cell {
        char text[CANVAS_CELL_BYTES]; /* UTF-8; "": the right half of a wide character */
        uint8_t ink;
};

/* A place to click on: as if the key had been pressed. */
struct canvas_spot {
        size_t row, begin, end; /* columns [begin, end) */
        int key;
};

struct canvas {
        size_t width, height;
        bool utf8; /* else all that is no ASCII is '?' */
        struct canvas_cell *cells;
        VEC(struct canvas_spot) spots;
};

/* Blank. Keeps the memory of the last frame. */
void canvas_begin(struct canvas *c, size_t width, size_t height, bool utf8);
void canvas_done(struct canvas *c);

/* Puts text from a column on, as far as there is room up to column `end`; returns the column behind it. */
size_t canvas_put_within(struct canvas *c, size_t row, size_t col, size_t end, enum canvas_ink ink,
                         const char *text);
size_t canvas_put(struct canvas *c, size_t row, size_t col, enum canvas_ink ink, const char *text);
/* So that it ends before column `end`; nothing where it begins left of the screen. */
void canvas_put_right(struct canvas *c, size_t row, size_t end, enum canvas_ink ink,
                      const char *text);
/* One ink for a whole row, whatever it has. */
void canvas_paint_row(struct canvas *c, size_t row, enum canvas_ink ink);
void canvas_blank_row(struct canvas *c, size_t row);
/* Text in lines, broken between words, of at most n_rows; returns how many it took. A mark at the end says that there is more. */
size_t canvas_put_wrapped(struct canvas *c, size_t row, size_t n_rows, enum canvas_ink ink,
                          const char *text);

void canvas_add_spot(struct canvas *c, size_t row, size_t begin, size_t end, int key);
int canvas_key_at(const struct canvas *c, size_t row, size_t col); /* 0: none */

const struct canvas_cell *canvas_cell(const struct canvas *c, size_t row, size_t col);
/* A row as text, without blanks at its end. */
void canvas_add_line(const struct canvas *c, size_t row, struct str *to);
