/* SPDX-License-Identifier: MIT */
#include "show/chain.h"

#include <string.h>

#include "base/macros.h"

enum {
        CHAIN_INDENT = 2,     /* of lines but the first */
        CHAIN_MAX_INNER = 24, /* names told at the inner end, at most */
        CHAIN_MIN_PLACE = 12, /* cells of a place; less says nothing */
        CHAIN_NOTE_INDENT = 4,
};

struct str *chain_next(struct chain *c) {
        vec_push(&c->names, (struct str){0});
        return &c->names.items[c->names.n - 1];
}

void chain_done(struct chain *c) {
        for (size_t i = 0; i < c->names.n; i++)
                str_done(&c->names.items[i]);
        for (size_t i = 0; i < c->lines.n; i++)
                str_done(&c->lines.items[i]);
        vec_free(&c->names);
        vec_free(&c->lines);
        str_done(&c->place);
        str_done(&c->note);
}

/* A function that calls itself is told once, with how often. */
static void join_equals(struct chain *c) {
        size_t n = 0, times = 1;

        for (size_t i = 0; i < c->names.n; i++) {
                bool is_next_equal =
                        i + 1 < c->names.n &&
                        strcmp(str_text(&c->names.items[i]), str_text(&c->names.items[i + 1])) == 0;

                if (is_next_equal) {
                        times++;
                        str_done(&c->names.items[i]);
                        c->names.items[i] = (struct str){0};
                        continue;
                }
                if (times > 1)
                        str_addf(&c->names.items[i], " %s%zu", c->s->utf8 ? "×" : "x", times);
                times = 1;
                if (n != i) {
                        c->names.items[n] = c->names.items[i];
                        c->names.items[i] = (struct str){0};
                }
                n++;
        }
        c->names.n = n;
}

/* ---- laying out ------------------------------------------------------------------------------ */

struct laying {
        struct chain *c;
        bool is_trial;      /* only counts */
        size_t n_lines, at; /* cells of the last line */
};

static struct str *line_now(struct laying *l) {
        return &l->c->lines.items[l->c->lines.n - 1];
}

static void next_line(struct laying *l) {
        l->n_lines++;
        l->at = l->n_lines > 1 ? CHAIN_INDENT : 0;
        if (!l->is_trial) {
                vec_push(&l->c->lines, (struct str){0});
                str_pad(line_now(l), ' ', l->at);
        }
}

/* A piece that is not broken: on this line, or the next; `need` cells must be free behind it. */
static void put(struct laying *l, const char *colour, const char *text, size_t need) {
        size_t gap = l->at > (l->n_lines > 1 ? CHAIN_INDENT : 0u) ? 1 : 0, width = str_width(text);

        if (gap && l->at + gap + width + need > l->c->width) {
                next_line(l);
                gap = 0;
        }
        width = MIN(width, l->c->width - MIN(l->c->width, l->at + gap + need));
        if (!l->is_trial) {
                str_pad(line_now(l), ' ', gap);
                str_add(line_now(l), colour);
                style_add_cut(l->c->s, line_now(l), text, width);
                str_add(line_now(l), colour[0] ? l->c->s->plain : "");
        }
        l->at += gap + width;
}

static void put_name(struct laying *l, size_t i) {
        const struct style *s = l->c->s;
        bool is_last = i + 1 == l->c->names.n;
        size_t place = is_last && l->c->place_must ? 2 + str_width(str_text(&l->c->place)) : 0;

        if (place + str_width(str_text(&l->c->names.items[i])) + CHAIN_INDENT > l->c->width)
                place = 0; /* they cannot stand together anyway */
        put(l, "", str_text(&l->c->names.items[i]), is_last ? place : 2);
        if (!is_last)
                put(l, s->dim, s->utf8 ? "→" : ">", 0);
}

/* All names but those between the first and the last n_inner. */
static size_t lay_names(struct chain *c, size_t n_inner, bool is_trial) {
        struct laying l = {.c = c, .is_trial = is_trial};
        size_t n_left_out = c->names.n - MIN(c->names.n, n_inner + 1);
        char more[48];

        next_line(&l);
        for (size_t i = 0; i < c->names.n; i++) {
                if (i == 1 && n_left_out) {
                        snprintf(more, sizeof(more), "%s %zu more %s", c->s->utf8 ? "…" : "..",
                                 n_left_out, c->s->utf8 ? "→" : ">");
                        put(&l, c->s->dim, more, 0);
                        i += n_left_out;
                }
                put_name(&l, i);
        }
        return l.n_lines;
}

/* Two cells behind the last name, or on a line of its own. False: there was no room, and it may be left out. */
static bool add_behind(struct chain *c, const char *text, bool must) {
        struct str *line = &c->lines.items[c->lines.n - 1];
        size_t left = c->width - MIN(c->width, style_width(str_text(line)) + 2);

        if (str_width(text) > left && !must)
                return false;
        if (str_width(text) > left) {
                vec_push(&c->lines, (struct str){0});
                line = &c->lines.items[c->lines.n - 1];
                left = c->width - CHAIN_NOTE_INDENT;
                str_pad(line, ' ', CHAIN_NOTE_INDENT - 2);
        }
        str_addf(line, "  %s", c->s->dim);
        style_add_cut(c->s, line, text, left);
        str_add(line, c->s->plain);
        return true;
}

void chain_lay_out(struct chain *c) {
        size_t n_inner;

        join_equals(c);
        n_inner = MIN(c->names.n - 1, (size_t)CHAIN_MAX_INNER);
        if (n_inner + 2 == c->names.n)
                n_inner++; /* naming it takes no more room than saying that there is one */
        while (n_inner > 1 && lay_names(c, n_inner, true) > c->max_lines)
                n_inner--;
        lay_names(c, n_inner, false);
        if (c->place.n)
                add_behind(c, str_text(&c->place), c->place_must);
        if (c->note.n)
                add_behind(c, str_text(&c->note), c->note_must);
}
