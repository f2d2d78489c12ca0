/* SPDX-License-Identifier: MIT */
/* Calls in a row as lines of text: "main → … 9 more → parse → read_line  input.c:31  via getline". What lies between the
 * outermost function and the innermost ones is left out where there is no room. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "show/style.h"

struct chain {
        const struct style *s;
        size_t width;               /* cells of a line */
        size_t max_lines;           /* for the names */
        VEC(struct str) names;      /* outermost first */
        struct str place;           /* of the innermost; empty: not told */
        struct str note;            /* behind it; empty: none */
        bool place_must, note_must; /* they get a line of their own where they do not fit */
        VEC(struct str) lines;      /* chain_lay_out fills it */
};

/* A new name, innermost so far, to be filled. */
struct str *chain_next(struct chain *c);
void chain_lay_out(struct chain *c);
void chain_done(struct chain *c);
