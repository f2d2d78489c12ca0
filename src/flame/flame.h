/* SPDX-License-Identifier: MIT */
/* Flame graphs: a picture of who asked for the memory, as SVG. docs/flame.md tells how it is read. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "show/show_options.h"

enum {
        FLAME_MIN_WIDTH_PX = 300,
        FLAME_MAX_WIDTH_PX = 10000,
        FLAME_WIDTH_PX = 1200, /* default */
};

/* Stands within the first bytes of every picture: it may be drawn anew where it lies. */
#define FLAME_MARK "drawn by silt flame"
enum { FLAME_MARK_WITHIN = 256 };

struct flame_options {
        struct show_options ask; /* of a difference: about the newer trace */
        const char *old_path;    /* the trace to compare with; NULL: none */
        const char *title;       /* NULL: what is seen, in a sentence */
        uint32_t width_px;
        bool is_reversed;     /* from the code that asked outwards */
        uint32_t n_max_boxes; /* and for each at most one rest; 0: the usual number */
};
#define FLAME_OPTIONS_DEFAULT                                                                      \
        ((struct flame_options){.ask = SHOW_OPTIONS_DEFAULT, .width_px = FLAME_WIDTH_PX})

/* What was drawn, to be told. */
struct flame_result {
        size_t n_frames;
};

/* Opens the trace, or both, and writes the picture. Nothing is written when it fails. */
int flame_draw(FILE *out, const struct flame_options *o, struct flame_result *ret,
               struct err *reterr);

/* A trace that is open, and what is asked of it. Two may be of one trace. */
struct flame_source {
        struct query *q;
        const char *path;
        const struct request *request;
};

struct flame_boxes {
        bool is_reversed;
        bool by_line;   /* a box for each line of a function that calls or asks, of one source */
        bool with_ages; /* how old what is alive is, of one source: a pass over the events */
        uint32_t n_max_boxes; /* 0: the usual number */
};

/* The boxes for programs: schema silt.flame/1, told in docs/http-api.md. of has one source, or two: the newer first. When
 * it fails, what was written is to be thrown away. */
int flame_write(FILE *out, const struct flame_source *of, size_t n, const struct flame_boxes *boxes,
                struct err *reterr);
