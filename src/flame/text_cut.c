/* SPDX-License-Identifier: MIT */
#include "flame/text_cut.h"

#include <stdint.h>
#include <string.h>

#include "base/macros.h"

enum { CUT_MIN_CELLS = 5 }; /* less of a name says nothing */

/* The code point at p and its length in bytes; what is no UTF-8 is one byte. */
static uint32_t code_at(const char *text, size_t *ret_n) {
        const unsigned char *p = (const unsigned char *)text;
        size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
        uint32_t code = n > 1 ? p[0] & (0x7fu >> n) : p[0];

        *ret_n = 1;
        if (n < 2)
                return code;
        for (size_t i = 1; i < n; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return p[0];
                code = code << 6 | (p[i] & 0x3f);
        }
        *ret_n = n;
        return code;
}

static unsigned code_cells(uint32_t c) {
        if ((c >= 0x300 && c < 0x370) || (c >= 0x200b && c <= 0x200f) ||
            (c >= 0xfe00 && c <= 0xfe0f))
                return 0;
        return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                               (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                               (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                               (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd)
                       ? 2
                       : 1;
}

size_t text_cut_cells(const char *text) {
        size_t cells = 0, n;

        for (; *text; text += n)
                cells += code_cells(code_at(text, &n));
        return cells;
}

/* Bytes of as many whole characters as fit. */
static size_t fitting(const char *text, size_t cells) {
        size_t at = 0, n, c;

        while (text[at]) {
                c = code_cells(code_at(text + at, &n));
                if (c > cells)
                        break;
                cells -= c;
                at += n;
        }
        return at;
}

/* Where the last part of a name begins, after its last "::" outside of brackets, or 0. */
static size_t last_part(const char *name) {
        size_t found = 0, depth = 0;

        for (size_t i = 0; name[i]; i++) {
                if (strchr("<([{", name[i]))
                        depth++;
                else if (strchr(">)]}", name[i]) && depth &&
                         !(name[i] == '>' && i && name[i - 1] == '-'))
                        depth--;
                else if (name[i] == ':' && name[i + 1] == ':' && depth == 0)
                        found = i + 2;
        }
        return found;
}

void text_cut_add_name(struct str *to, const char *name, size_t cells) {
        size_t have = text_cut_cells(name), part, tail, head, at, n;

        if (have <= cells) {
                str_add(to, name);
                return;
        }
        if (cells < CUT_MIN_CELLS)
                return;
        part = text_cut_cells(name + last_part(name));
        tail = (cells - 1) / 2;
        if (part > tail && part <= (cells - 1) * 3 / 4)
                tail = part;
        head = cells - 1 - tail;
        str_addn(to, name, fitting(name, head));
        str_add(to, "…");
        for (at = 0; have > tail && name[at]; at += n)
                have -= code_cells(code_at(name + at, &n));
        str_add(to, name + at);
}

size_t text_cut_line(const char *text, size_t cells, size_t *ret_skip) {
        size_t n = fitting(text, MAX(cells, 2u)), at;

        *ret_skip = 0;
        if (text[n]) {
                for (at = n; at > 0 && text[at] != ' '; at--)
                        ;
                n = at > 0 ? at : n;
        }
        while (text[n + *ret_skip] == ' ')
                (*ret_skip)++;
        return n;
}
