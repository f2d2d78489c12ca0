/* SPDX-License-Identifier: MIT */
/* Who calls the code that asked, as rows that open and close: a tree, its largest branch open to begin with. Inside top/ only. */
#pragma once

#include "base/vec.h"
#include "top/top_model.h"

/* What was chosen in a table of groups. Its own texts: groups come and go with each frame. */
struct callers_of {
        enum query_by by;
        struct str function, module, file, component, title;
        uint32_t line;
        uint64_t site;    /* by site: a hash of the functions on the call path */
        bool is_top_down; /* all of the program from its outer end on; nothing else is looked at */
};

struct callers_row {
        struct name_frame frame;
        bool is_task;
        bool is_rest; /* of n_rest branches that are too small to tell */
        uint32_t n_rest;
        const struct query_figures *f; /* at and below it */
        unsigned depth;                /* branches above it */
        uint64_t key;                  /* the same in the next frame */
        bool can_open, is_open;
};

struct callers {
        struct query_tree *tree;
        struct query_groups *sites; /* by site */
        VEC(struct callers_row) rows;
        VEC(uint64_t) toggled; /* keys of those that were opened or closed by hand */
};

void paths_of_group(struct callers_of *p, const struct model *m, const struct query_group *g);
void paths_of_done(struct callers_of *p);

/* Of this frame; what was toggled stays. */
void callers_fill(struct callers *p, const struct model *m, struct callers_of *of);
void callers_toggle(struct callers *p, uint64_t key);
void callers_forget(struct callers *p); /* the tree: the model is about to change */
void callers_done(struct callers *p);
