/* SPDX-License-Identifier: MIT */
/* The forms a picture takes. Inside flame/ only. */
#pragma once

#include "flame/words.h"

enum { /* pixels */
       PICTURE_ROW = 17,
       PICTURE_PAD = 10,
       PICTURE_TITLE_LINE = 20,
       PICTURE_WORDS_LINE = 16,
       /* frames drawn without the script's help, widest first: more make an image viewer slow */
       PICTURE_MAX_DRAWN = 5000,
};

#define PICTURE_CELL 6.65 /* a letter of the frames' font */
#define PICTURE_LEAST 0.8 /* narrower frames are put together */
#define PICTURE_LETTER 10 /* narrower frames are not worth a row */

/* One graph and what is said of it; the page has one for each metric and direction. */
struct picture {
        struct graph graph;
        struct words words;
};

void write_svg(struct str *to, const struct picture *p, const struct flame_options *o);
void write_page(struct str *to, const struct picture *pictures, size_t n,
                const struct flame_options *o);

/* The script's data: `const silt_flame = {…};`. top: where frames begin in the SVG. */
void write_data(struct str *to, const struct picture *pictures, size_t n,
                const struct flame_options *o, double top);
