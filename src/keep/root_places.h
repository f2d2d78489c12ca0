/* SPDX-License-Identifier: MIT */
/* Roots with names: which variable, thread or mapping each word is a part of. */
#pragma once

#include "base/map.h"
#include "keep/site_texts.h"
#include "query/query.h"
#include "reach/dominators.h"

enum root_place_kind {
        ROOT_PLACE_VARIABLE,
        ROOT_PLACE_UNNAMED,      /* a variable that no symbol names */
        ROOT_PLACE_THREAD,       /* its stack and registers */
        ROOT_PLACE_THREAD_LOCAL, /* what lies above a thread's first frame */
        ROOT_PLACE_MAPPING,
        ROOT_PLACE_ALLOCATOR, /* an allocator's own variable, which knows blocks and free memory between them */
};

struct root_place {
        enum root_place_kind kind;
        uint32_t name;  /* in the texts: "static server" */
        uint32_t owner; /* of the graph */
        uint64_t begin; /* of a variable */
};

struct root_places {
        struct reach_places places; /* for dominators; of_root is owned */
        VEC(struct root_place) list;
        struct map
                also; /* two places → pointers of the second into what is the first's (borrowers.h) */
};

/* Sorts the roots of the graph by their places. 0 or -ENOMEM. */
int root_places_find(struct heap_graph *h, const struct query *q, uint32_t process,
                     struct site_texts *texts, struct root_places *ret);
void root_places_done(struct root_places *p);

/* The code of the frame that a word of a stack lies in; HEAP_NO_LOCATION: unknown. */
uint32_t root_places_frame(const struct heap_graph *h, uint64_t address);
