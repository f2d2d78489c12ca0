/* SPDX-License-Identifier: MIT */
/* Functions above sites: the tree from where programs begin down to the code that asked, with what each held over time, and
 * the functions that asked, whatever path led there. Recursion goes back to where it began, so that the depth of
 * a call makes no difference. Inside finding/ only. */
#pragma once

#include "base/str.h"
#include "finding/facts.h"

enum { PLACE_NONE = UINT32_MAX };
enum { PLACE_MAX_DEPTH = 128 /* farther out is left out */ };

struct place {
        uint32_t parent, first_child, next; /* PLACE_NONE: none */
        struct name_frame frame;
        uint64_t key; /* of the function */
        bool is_task;
        uint32_t depth;     /* the root, which is no function, has 0 */
        struct course all;  /* of sites here and below */
        struct course self; /* of sites here; bytes NULL: none */
        uint32_t row;       /* the site with most of what was asked for, here or below */
        uint32_t n_rows;    /* sites here or below */
};

struct places {
        struct facts *f;
        VEC(struct place) items; /* the root first, parents before children */
        struct map by_key;       /* hash of parent and function → place */
        uint32_t *of_row;        /* place of a row; PLACE_NONE: not in the tree */
};

/* The tree of so many rows; weight: which of two sites stands for a place. */
void places_build(struct places *p, struct facts *f, const uint32_t *rows, size_t n);
void places_done(struct places *p);
bool places_has(const struct places *p, uint32_t place, uint32_t row); /* row is here or below */

/* A function that asked, by all of its paths. */
struct asker {
        uint64_t key;
        struct course c;
        struct query_figures figures;
        uint32_t row; /* its largest site by figures' end, then by allocations */
        uint32_t n_rows;
};

struct askers {
        struct asker *items;
        size_t n;
        uint32_t *of_row; /* row → asker */
};

/* Of all rows that have a course; in the facts' arena. */
void askers_gather(struct askers *a, struct facts *f);
/* Of a function's sites the one with most of a metric. */
uint32_t askers_row(const struct askers *a, const struct facts *f, size_t asker,
                    enum query_metric m);

/* ---- names ----------------------------------------------------------------------------------- */

/* What a function is called: clean, in ASCII where the rules shorten it. In the arena. */
const char *place_name(struct facts *f, const struct name_frame *frame, bool is_task);
/* As requests take it: the short name, or the place in its module. */
const char *place_option(struct facts *f, const struct name_frame *frame);
/* The code that asked of a row; blank for a call path that is empty. */
struct name_frame place_of_row(struct facts *f, uint32_t row, bool *ret_is_task);
struct name_frame place_of_stack(struct facts *f, uint32_t stack, bool *ret_is_task);
/* Whether the code that asked was called, directly or not, by the function with this key. */
bool place_is_called_by(struct facts *f, uint32_t row, uint64_t key);
/* Whether a path starts tasks: something named spawn stands between the allocator and the code that asked. */
bool place_row_spawns(struct facts *f, uint32_t row);
