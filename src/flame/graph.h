/* SPDX-License-Identifier: MIT */
/* The frames of a flame graph: a tree of calls with a width for each, of one trace or of two laid over each other.
 *
 * A frame's own width is what its self has of the metric, without sign; of two traces the larger of both. Its width is its
 * own and those of its children, so children always fit under their parent, and
 *   width = own + Σ children.width          own >= 0
 * holds for every frame. Of one trace and a metric that cannot be negative, width = value.
 * Inside flame/ only. */
#pragma once

#include "base/vec.h"
#include "query/query.h"
#include "show/text_pool.h"
#include "show/view.h"

enum {
        /* Bounds of a picture, whatever the trace: the smallest frames beyond become the rest of their callers. */
        FLAME_MAX_FRAMES = 12000, /* unless told; and for each at most one rest of what it called */
        FLAME_MAX_DEPTH = 400,
        FLAME_MAX_NAME = 250, /* cells; longer names are cut in the middle */
};

#define FLAME_MIN_SHARE 0.0001

/* What shallow pictures have beside functions: the lines that asked. */
enum { FLAME_SHALLOW_DEPTH = 8, FLAME_SHALLOW_FRAMES = 80 };

/* Colours: classes h0 to h52 of picture.css. */
enum {
        HUE_N_NAMES =
                32, /* 0 to 31: crates, namespaces and modules, each always the same one by its name */
        HUE_OWN = 32,    /* the program itself */
        HUE_SYSTEM = 33, /* libc and what comes with compilers */
        HUE_REST = 34,
        HUE_ROOT = 35,
        HUE_HELPER = 36, /* allocators, machinery and start code, where they are drawn */
        HUE_PROCESS = 37,
        HUE_NO_PATH = 38,
        HUE_GONE = 40,
        HUE_SAME = 46, /* 41 … 45 smaller, 47 … 51 larger */
        HUE_NEW = 52,
        HUE_CHANGE_STEPS = 5,
        HUE_N_SHADES = 3, /* of each, so that neighbours can be told apart */
        GRAPH_MAX_KEYS = 14,
};

enum graph_side { GRAPH_NEW, GRAPH_OLD, GRAPH_N_SIDES };

struct graph_figure {
        int64_t value;  /* by the metric */
        int64_t beside; /* of bytes the blocks, of counts the bytes */
        /* query/ages.h, where they were asked for */
        int64_t aged_bytes;
        double aged_byte_s;
        bool is_sampled, lacks_blocks; /* the latter: beside means nothing */
};

struct graph_frame {
        uint32_t parent, first_child, n_children, depth;
        uint32_t name, place;   /* texts */
        const char *function;   /* as the trace has it; NULL: none, or unknown */
        uint32_t function_text; /* flame_json.c */
        uint32_t crate;         /* text; what colours go by */
        uint32_t object;        /* text; the file its code is in */
        bool is_rest;           /* stands for n_rest frames */
        bool is_task, is_inlined;
        bool is_unnamed; /* no function is known */
        bool is_helper;  /* drawn only because everything is */
        bool is_line;    /* of the function above it */
        bool is_process; /* of several: between all and the functions */
        bool is_no_path; /* blocks whose call path is not known */
        bool is_own;     /* code of a program of the recording, not of a library */
        uint32_t n_rest;
        uint32_t stack;              /* a call path of the newer side that ends here; 0: none */
        uint8_t hue, shade;          /* colour.c */
        struct graph_figure is, was; /* was: of two traces */
        double width, begin;         /* in units of the metric; begin: from the left edge */

        /* while the graph is made */
        const struct query_node *node;
        const struct graph_part *part; /* whose process row it is */
        enum graph_side side;          /* of node */
        double own;
        bool is_kept;
};

/* What a colour stands for. */
struct graph_key {
        uint8_t hue;
        uint32_t crate; /* text */
        double share;   /* of the whole, asked for by its code */
};

struct graph {
        enum query_metric metric;
        bool is_reversed, has_old;
        VEC(struct graph_frame) frames; /* the root first; children in a row, widest first */
        struct text_pool *texts;        /* not owned */
        uint32_t max_depth;             /* of a frame */
        uint64_t n_rest;                /* frames that are not told */
        struct graph_key keys[GRAPH_MAX_KEYS + 2];
        size_t n_keys;   /* of changes: none */
        bool has_system; /* some colour is that of the system's libraries */
};

/* What one process has of the whole, or several that are not worth a box each. */
struct graph_part {
        const struct query_tree *tree;
        const char *name;  /* NULL: all there is, without a row of its own */
        const char *place; /* more about it */
        uint32_t pid;      /* 0: several */
};

/* A trace that was asked, with the trees it answered. */
struct graph_source {
        const struct view *view;
        const struct graph_part *parts;
        size_t n_parts;
        bool by_line; /* frames are lines of functions */
};

/* What becomes the rest of its caller: frames with less of the whole, and the smallest where there are too many. */
struct graph_bounds {
        double min_share;
        size_t n_max_frames;
};

/* of has one source, or two: the newer first. */
void graph_make(struct graph *g, const struct graph_source *of, size_t n_sources,
                const struct graph_bounds *bounds, struct text_pool *texts);
void graph_done(struct graph *g);

/* Chooses hues and shades; graph_make does it last. */
void graph_colour(struct graph *g);

/* Of changes: how much of itself a frame gained or lost, in steps. */
uint8_t graph_change_hue(const struct graph *g, const struct graph_frame *f);
/* How much of a frame changed: of two traces from one to the other, else by the metric's own sign. */
int64_t graph_change(const struct graph *g, const struct graph_frame *f);

void graph_figure_add(struct graph_figure *to, const struct graph_figure *f);

/* The last row with a frame that is at least as wide: what is below is not worth its height. */
uint32_t graph_last_row(const struct graph *g, double least_width);

/* To be rounded: not quite all is not all. */
static inline double graph_pct(double share) {
        double pct = 100 * share;

        return pct > 99 && pct < 100 ? 99 : pct;
}

/* Signed metrics and differences are coloured by what changed. */
static inline bool graph_is_change(const struct graph *g) {
        return g->has_old || g->metric == QUERY_GROWTH;
}
