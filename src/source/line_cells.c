/* SPDX-License-Identifier: MIT */
/* A line of somebody's file in the cells of a terminal. */
#include <string.h>

#include "base/visible.h"
#include "source/source_file.h"

enum { SHOWN_MAX_CELL_BYTES = 16 }; /* characters of no width are put upon one another */

/* What stands for the next character: its text, cells and how many bytes it is of. */
struct glyph {
        char text[VISIBLE_MAX];
        size_t n_text, n_cells, n_bytes;
};

static struct glyph glyph_at(const unsigned char *p, size_t n, size_t cell) {
        struct glyph g = {.n_bytes = 1};

        if (p[0] == '\t') {
                g.n_cells = g.n_text = FILE_TAB_CELLS - cell % FILE_TAB_CELLS;
                memset(g.text, ' ', g.n_text);
        } else {
                g.n_bytes = visible_first((const char *)p, n, g.text, &g.n_text);
                g.n_cells = str_width(g.text);
        }
        return g;
}

size_t file_add_shown(struct str *to, const char *text, size_t n, size_t skip, size_t width) {
        size_t cell = 0, i = 0, most = to->n + (width + 4) * SHOWN_MAX_CELL_BYTES;

        while (i < n) {
                struct glyph g = glyph_at((const unsigned char *)text + i, n - i, cell);

                if (cell >= skip && (cell - skip + g.n_cells > width || to->n > most))
                        break;
                if (cell >= skip)
                        str_addn(to, g.text, g.n_text);
                else if (cell + g.n_cells > skip) /* a tab across the edge */
                        str_pad(to, ' ', cell + g.n_cells - skip);
                cell += g.n_cells;
                i += g.n_bytes;
        }
        return i;
}
