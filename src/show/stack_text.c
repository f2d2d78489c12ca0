/* SPDX-License-Identifier: MIT */
#include "show/stack_text.h"

#include <string.h>

#include "show/frame.h"

enum { STACK_MIN_PLACE = 12 }; /* cells of a module's name, at least */

/* ---- a stack ----------------------------------------------------------------------------- */

/* Appends text in colour, cut to what is left of the line; returns what is left then. */
static size_t add_part(const struct style *s, struct str *line, const char *colour,
                       const char *text, size_t left, bool full) {
        size_t width = full ? SIZE_MAX : left, have = str_width(text);

        str_add(line, colour);
        style_add_cut(s, line, text, width);
        str_add(line, colour[0] ? s->plain : "");
        return left - MIN(left, have);
}

/* The cells a frame's place gets of those that are left, with the gap before it; 0: none. A line of
 * source is worth shortening a name for, a module is not. */
static size_t place_cells(const struct name_frame *f, const char *name, const char *place,
                          size_t left) {
        size_t name_width = str_width(name), room = left / 2;

        if (!place[0])
                return 0;
        if (!f->file[0]) {
                if (left < name_width + 2 + STACK_MIN_PLACE)
                        return 0;
                room = left - name_width - 2;
        }
        return MIN(str_width(place), room) + 2;
}

static void print_frame(const struct style *s, const struct frame_names *n,
                        const struct name_frame *f, bool is_task, const char *lead, size_t indent) {
        struct str name = {0}, place = {0}, line = {0};
        bool full = n->is_full;
        size_t left = s->width - indent - str_width(lead), place_width;

        frame_add_function(&name, n, f, is_task, full, s->utf8);
        frame_add_place(&place, f, full);
        place_width = place_cells(f, str_text(&name), str_text(&place), left);
        str_pad(&line, ' ', indent);
        add_part(s, &line, s->dim, lead, SIZE_MAX, true);
        left = add_part(s, &line, "", str_text(&name), left - place_width, full) + place_width;
        if (place_width || (full && place.n)) {
                str_add(&line, "  ");
                add_part(s, &line, s->dim, str_text(&place), left - 2, full);
        }
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&name);
        str_done(&place);
        str_done(&line);
}

void stack_print(const struct style *s, const struct frame_names *n, uint32_t stack, size_t indent,
                 size_t max_frames) {
        const char *lead = s->utf8 ? "↑ " : "^ ";
        struct frame_stack x = {0};
        size_t n_shown;

        frame_stack_fill(&x, n, stack, n->is_full);
        n_shown = max_frames && x.shown.n > max_frames + 1 ? max_frames : x.shown.n;
        if (x.shown.n == 0)
                fprintf(s->out, "%*s%s(no stack)%s\n", (int)indent, "", s->dim, s->plain);
        for (size_t i = 0; i < n_shown; i++)
                print_frame(s, n, &x.frames.items[x.shown.items[i].frame_idx],
                            x.shown.items[i].is_task, i ? lead : "",
                            indent + (n->is_full ? 0 : MIN(i, 8u)));
        if (n_shown < x.shown.n)
                fprintf(s->out, "%*s%s%s%s %zu more%s\n", (int)(indent + MIN(n_shown, 8u)), "",
                        s->dim, lead, s->utf8 ? "…" : "..", x.shown.n - n_shown, s->plain);
        frame_stack_done(&x);
}

void stack_add_via(const struct style *s, const struct frame_names *n, uint32_t stack,
                   bool has_others, struct str *to) {
        struct frame_stack x = {0};

        frame_stack_fill(&x, n, stack, n->is_full);
        if (x.shown.via_idx != NAME_NO_FRAME && x.frames.items[x.shown.via_idx].function[0]) {
                str_add(to, "via ");
                frame_add_function(to, n, &x.frames.items[x.shown.via_idx], false, false, s->utf8);
                if (has_others)
                        str_add(to, " and others");
        }
        frame_stack_done(&x);
}

void stack_add_short(const struct style *s, const struct frame_names *n, uint32_t stack,
                     struct str *to, size_t width) {
        struct str text = {0};
        struct frame_stack x = {0};
        const char *module = NULL;

        frame_stack_fill(&x, n, stack, n->is_full);
        for (size_t i = 0; i < x.shown.n && str_width(str_text(&text)) < width; i++) {
                if (i)
                        str_add(&text, s->utf8 ? " ← " : " < ");
                frame_add_next(&text, n, &x.frames.items[x.shown.items[i].frame_idx],
                               x.shown.items[i].is_task, s->utf8, &module);
        }
        if (x.shown.n == 0)
                str_add(&text, "(no stack)");
        if (str_width(str_text(&text)) > width) { /* callers go first, so cut at the end */
                struct str cut = {0};

                style_add_cut(s, &cut, str_text(&text),
                              2 * width); /* only when one name alone is too long */
                while (cut.n && str_width(str_text(&cut)) > width - (s->utf8 ? 1 : 2)) {
                        do
                                cut.n--;
                        while (cut.n && ((unsigned char)cut.bytes[cut.n] & 0xc0) == 0x80);
                        cut.bytes[cut.n] = '\0';
                }
                str_addf(to, "%s%s", str_text(&cut), s->utf8 ? "…" : "..");
                str_done(&cut);
        } else {
                str_add(to, str_text(&text));
        }
        str_done(&text);
        frame_stack_done(&x);
}
