/* SPDX-License-Identifier: MIT */
/* A line of somebody's file in the cells of a terminal. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "source/source_file.h"

enum { SHOWN_MAX_CELL_BYTES = 16 }; /* characters of no width are put upon one another */

struct range {
        uint32_t first, last;
};

/* Characters that cannot be seen, or that make text read otherwise than the compiler reads it. */
static const struct range unseen[] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},
                                      {0x61c, 0x61c},   {0x180e, 0x180e},  {0x200b, 0x200f},
                                      {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                      {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

static bool is_in(const struct range *ranges, size_t n, uint32_t c) {
        for (size_t i = 0; i < n; i++)
                if (c >= ranges[i].first && c <= ranges[i].last)
                        return true;
        return false;
}

/* The character at p and its length; 0 where the bytes are no UTF-8. */
static size_t decode(const unsigned char *p, size_t n, uint32_t *ret) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t len = p[0] < 0x80   ? 1
                     : p[0] < 0xc2 ? 0
                     : p[0] < 0xe0 ? 2
                     : p[0] < 0xf0 ? 3
                     : p[0] < 0xf5 ? 4
                                   : 0;
        uint32_t c = len == 1 ? p[0] : len ? p[0] & (0x7fu >> len) : 0;

        if (!len || len > n)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (p[i] & 0x3f);
        }
        if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
                return 0;
        *ret = c;
        return len;
}

/* What stands for the next character: its text, cells and how many bytes it is of. */
struct glyph {
        char text[16];
        size_t n_text, n_cells, n_bytes;
};

static struct glyph glyph_at(const unsigned char *p, size_t n, size_t cell) {
        struct glyph g = {.n_bytes = 1};
        uint32_t c = 0;
        size_t len = decode(p, n, &c);

        if (len == 0) {
                g.n_cells = g.n_text = (size_t)snprintf(g.text, sizeof(g.text), "\\x%02x", p[0]);
                return g;
        }
        g.n_bytes = len;
        if (c == '\t') {
                g.n_cells = g.n_text = FILE_TAB_CELLS - cell % FILE_TAB_CELLS;
                memset(g.text, ' ', g.n_text);
        } else if (is_in(unseen, ARRAY_SIZE(unseen), c)) {
                g.n_cells = g.n_text = (size_t)snprintf(g.text, sizeof(g.text),
                                                        c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
        } else {
                memcpy(g.text, p, len);
                g.n_text = len;
                g.n_cells = str_first_width(g.text, &len);
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
