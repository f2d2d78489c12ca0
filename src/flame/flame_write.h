/* SPDX-License-Identifier: MIT */
/* The forms a picture takes. Inside flame/ only. */
#pragma once

#include "flame/flame_timeline.h"
#include "flame/flame_words.h"

enum {                         /* pixels */
       PICTURE_ROW = 17,       /* at least */
       PICTURE_MAX_ROW = 36,   /* of a picture with few of them */
       PICTURE_ROWS = 440,     /* so high a picture may become by high rows */
       PICTURE_TWO_LINES = 30, /* rows from which on figures have a line of their own */
       PICTURE_PAD = 10,
       PICTURE_TITLE_LINE = 20,
       PICTURE_WORDS_LINE = 16,
       /* frames that are drawn, widest first: more make an image viewer slow */
       PICTURE_MAX_DRAWN = 5000,
};

#define PICTURE_CELL 6.65 /* a letter of the frames' font */
#define PICTURE_LEAST 0.8 /* narrower frames are put together */
#define PICTURE_LETTER 10 /* narrower frames are not worth a row */

/* One graph and what is said of it. */
struct picture {
        struct graph graph;
        struct words words;
};

void write_svg(struct str *to, const struct picture *p, const struct timeline *t,
               const struct flame_options *o);

/* The boxes as JSON; with_ages: with the age of each, or why it is not known. */
void write_json(FILE *out, const struct picture *p, const struct view *v,
                const struct query_answer *a, bool with_ages);
