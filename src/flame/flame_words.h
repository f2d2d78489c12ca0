/* SPDX-License-Identifier: MIT */
/* What a flame graph says in words. Inside flame/ only. */
#pragma once

#include "flame/flame.h"
#include "flame/graph.h"

struct words {
        char *title;    /* a sentence: what is seen */
        char *subtitle; /* scope, window, filter; what to doubt */
        char *note;     /* how to read it, and what was left out */
};

struct words_source {
        const struct view *view;
        const struct query_answer *answer;
        const char *path;
};

/* of has one source, or two: the newer first. Texts live in the arena and are clean UTF-8. */
void words_find(struct words *w, const struct graph *g, const struct words_source *of,
                const struct flame_options *o, struct arena *arena);

/* "7.6 MiB in 1,234 blocks"; of counts "1,234 allocations of 7.6 MiB"; of two traces both. */
void words_add_figures(struct str *to, const struct graph *g, const struct graph_frame *f);
/* The same in a few letters, for inside of a box: "7.6 MiB, 45 %"; of two traces "+1.2 MiB, +78 %", "new", "gone". */
void words_add_brief(struct str *to, const struct graph *g, const struct graph_frame *f);
/* All that is told of a frame, a line each: name, figures, place. */
void words_add_frame(struct str *to, const struct graph *g, const struct graph_frame *f);
