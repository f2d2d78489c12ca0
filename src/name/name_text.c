/* SPDX-License-Identifier: MIT */
#include "name/name_text.h"

#include <string.h>

#include "base/macros.h"
#include "name/shape.h"

void text_cut(struct str *s, size_t n) {
        s->n = n;
        if (s->bytes)
                s->bytes[n] = '\0';
}

/* Takes [begin, end) out. */
void text_take_out(struct str *s, size_t begin, size_t end) {
        memmove(s->bytes + begin, s->bytes + end, s->n - end);
        text_cut(s, s->n - (end - begin));
}

size_t text_width_from(const struct str *s, size_t begin) {
        return begin < s->n ? str_width(s->bytes + begin) : 0;
}

/* Drops what stands before the last `::` of every path from begin on. */
void text_drop_qualifiers(struct str *s, size_t begin) {
        size_t path_begins[SHAPE_MAX_DEPTH + 4], n_open = 0, path = begin, to = begin;

        for (size_t from = begin; from < s->n; from++) {
                char c = s->bytes[from];

                if (c == ':' && from + 1 < s->n && s->bytes[from + 1] == ':') {
                        to = path;
                        from++;
                        continue;
                }
                s->bytes[to++] = c;
                if (strchr("<([{", c)) {
                        if (n_open == ARRAY_SIZE(path_begins)) {
                                text_cut(s, begin); /* the caller makes <…> of nothing */
                                return;
                        }
                        path_begins[n_open++] = path;
                        path = to;
                } else if (strchr(">)]}", c) && n_open) {
                        path = path_begins[--n_open];
                } else if (strchr(" ,&*+", c)) {
                        path = to;
                }
        }
        text_cut(s, to);
}

void text_set(struct str *s, const char *text, size_t n) {
        str_clear(s);
        str_addn(s, text, n);
}
