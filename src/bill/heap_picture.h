/* SPDX-License-Identifier: MIT */
/* silt heap: a picture of the heap's pages, at a moment as SVG or over the recording as a page with a slider (docs/bill.md). */
#pragma once

#include "show/show_options.h"

/* Stands within the first bytes of what is drawn. */
#define HEAP_MARK "made by silt heap"
enum { HEAP_MARK_WITHIN = 256 };

struct heap_options {
        struct show_options view;
        bool is_film; /* HTML, with all moments */
};
#define HEAP_OPTIONS_DEFAULT ((struct heap_options){.view = SHOW_OPTIONS_DEFAULT})

struct heap_result {
        size_t n_moments, n_cells; /* cells: of the first */
};

/* One moment of a trace that is open, as JSON (silt.heap/1). view: resolved. */
int heap_tell(FILE *out, struct query *q, struct names *names, const struct show_options *view,
              struct err *reterr);
int heap_draw(FILE *out, const struct heap_options *o, struct heap_result *ret, struct err *reterr);
