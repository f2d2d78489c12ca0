/* SPDX-License-Identifier: MIT */
/* A table of text whose rows come one by one: as wide as they need to be, and on a terminal no wider than that.
 *
 *   grid_init(&g, stdout, n_columns);
 *   grid_name(&g, "function", GRID_CUT) …;                  // each column
 *   grid_text(&g, "main", 4) …;                   // each cell, in the order of the columns
 *   if (grid_is_full(&g)) grid_flush(&g);
 *   grid_flush(&g);                                // also prints the names where there was no row
 *   grid_done(&g);
 *
 * Texts are hostile. Inside sql/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "base/vec.h"
#include "show/style.h"

/* How a text that is too wide for a terminal is shown, where each value has a line of its own. */
enum grid_kind {
        GRID_CUT,
        GRID_COMMAND, /* whole in one line, however long: somebody is to copy it; cut nowhere */
        GRID_PROSE,   /* in several lines */
};

enum {
        GRID_LEAST_PROSE = 40,
        GRID_BATCH_ROWS = 1000,
        GRID_BATCH_BYTES = 4 << 20,
        GRID_LEAST_TEXT = 12
};

struct grid_column {
        size_t name_off; /* in names, with a NUL behind */
        size_t need;     /* cells of its name and widest value so far */
        size_t width;    /* that it gets */
        enum grid_kind kind;
        bool is_text; /* holds a value that is no figure */
        bool has_value;
};

struct grid_cell {
        size_t off, n; /* in bytes; lines end with \n */
        size_t need;   /* of the terminal's cells */
        bool is_number, has_lines;
};

struct grid {
        struct style s;
        bool is_terminal;
        bool without_names;
        bool is_begun; /* the names are printed */
        bool is_tall;  /* each value on a line of its own: a row does not fit */
        size_t terminal_width;
        struct str names, bytes, line;
        VEC(struct grid_column) columns;
        VEC(struct grid_cell) cells;
        uint64_t n_rows_printed;
};

void grid_init(struct grid *g, FILE *out);
void grid_done(struct grid *g);
void grid_name(struct grid *g, const char *name, enum grid_kind kind);
void grid_number(struct grid *g, const char *text);
void grid_text(struct grid *g, const char *text, size_t n_bytes); /* "": an empty cell */
void grid_null(struct grid *g, const char *text); /* stands where the column's values do */
static inline bool grid_is_full(const struct grid *g) {
        return g->cells.n >= g->columns.n * GRID_BATCH_ROWS || g->bytes.n >= GRID_BATCH_BYTES;
}
/* Prints the rows there are; the columns are as wide as all rows so far need. */
void grid_flush(struct grid *g);
