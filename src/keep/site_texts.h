/* SPDX-License-Identifier: MIT */
/* Allocation sites as holders tell them apart: by the function that requested the memory, its line, and what it called for it, whoever called it; in one trace or
 * in several. What is told apart by callers is told apart by who holds it. */
#pragma once

#include "base/map.h"
#include "reach/heap_graph.h"
#include "show/frame.h"
#include "show/text_pool.h"

struct site_texts {
        bool has_lines; /* calls on different lines of a function are different sites: of one build alone */
        struct text_pool pool; /* number of a site → its text; roots' names are numbered here too */
        struct map
                stacks; /* number of a site → a stack of it, of those in the trace last met the one with most blocks */
        struct map apart; /* a stack → the number of its site, where a line has several */
        bool is_decided;  /* of the first graph; those beside it are told as it is */
};

/* One line may request several things: calls at different addresses whose blocks have one size each, and not the same, are sites of their own. */
void site_texts_init(struct site_texts *t);
void site_texts_done(struct site_texts *t);

/* Blocks' sites become numbers of texts; REACH_NO_SITE stays. */
void site_texts_replace(struct site_texts *t, const struct frame_names *names,
                        struct heap_graph *h);

/* The same by the blocks' sizes, for graphs without call paths: "24 bytes". */
int site_texts_by_size(struct site_texts *t, struct heap_graph *h);

/* The number of a stack; REACH_NO_SITE: it has no frame. */
uint32_t site_texts_of(struct site_texts *t, const struct frame_names *names, uint32_t stack);

/* REACH_NO_SITE: none. */
uint32_t site_texts_stack(const struct site_texts *t, uint32_t site);
