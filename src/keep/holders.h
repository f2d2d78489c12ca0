/* SPDX-License-Identifier: MIT */
/* silt holders: who keeps the memory that something still points to (docs/holders.md). */
#pragma once

#include "show/show_options.h"

struct holders_options {
        struct show_options view;
        const char *
                old_path; /* of an earlier moment, to compare with; NULL: the graph before in the same trace */
        const char *
                why; /* functions, by a regular expression: paths to what was allocated there; NULL: not asked */
        bool is_full; /* whole call paths, every group */
};
#define HOLDERS_OPTIONS_DEFAULT ((struct holders_options){.view = SHOW_OPTIONS_DEFAULT})

/* The same as JSON, of a trace that is open; o->view is resolved, and there is no old_path. */
int holders_write(FILE *out, struct query *q, struct names *names, const struct holders_options *o,
                  struct err *reterr);

/* Who points to the blocks of one group of that answer, and what they point to (silt.neighbours/1). o->why: it is a group of the paths. */
struct holders_neighbours {
        uint32_t graph, group; /* as the answer has them */
};

int holders_write_neighbours(FILE *out, struct query *q, struct names *names,
                             const struct holders_options *o, const struct holders_neighbours *of,
                             struct err *reterr);

int holders_print(FILE *out, const struct holders_options *o, struct err *reterr);
