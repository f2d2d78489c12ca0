/* SPDX-License-Identifier: MIT */
/* A tree of nodes told in few lines: nodes below one group that were allocated at the same site are one group. What repeats itself (the
 * nodes of a list, a tree of objects and arrays) is one group too, however deep: a block joins the nearest group above it that has its
 * site. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "reach/dominators.h"

/* What nodes are grouped by. Both calls may be NULL: then blocks are of type 0, and each root or place is a group of its own. */
struct site_keys {
        uint32_t (*type_of)(void *ctx, uint32_t block);
        /* of a place, or of a root where there are no places: those with the same number are one group */
        uint32_t (*name_of)(void *ctx, uint32_t root_or_place);
        void *ctx;
};

enum site_group_kind {
        GROUP_ABOVE_ALL, /* the first */
        GROUP_PLACE,     /* roots or places of one name */
        GROUP_BLOCKS,
};

struct site_group {
        uint32_t parent;            /* always before its children; REACH_NONE: of the first */
        uint32_t first_child, next; /* by tree_bytes, the largest first; REACH_NONE: no more */
        enum site_group_kind kind;
        uint32_t site; /* GROUP_PLACE: the name */
        uint32_t type;
        uint32_t oldest_ms, newest_ms; /* births; meaningless without blocks */
        uint64_t n_blocks, own_bytes, largest_bytes;
        uint64_t tree_blocks, tree_bytes; /* with all groups below */
        /* Blocks that no other of the group is above; and what these weigh. Weights being what each retains, it is what the group does:
         * more than tree_bytes where a group below holds some of a group above again. */
        uint64_t n_outermost, outermost_weight;
};

struct site_tree {
        struct site_group *groups;
        uint32_t n;
        uint32_t *group_of; /* of each node; REACH_NONE: it is in no tree */
};

struct site_tree_request {
        const struct reach_graph *g;
        const uint32_t *parent; /* of each of n_nodes; REACH_NONE: leave it out, and all below it */
        uint32_t n_nodes;
        const struct site_keys *keys; /* may be NULL */
        const uint64_t *weight;       /* of each node; may be NULL */
        const bool *
                counted; /* of each block: is it in the figures? NULL: all are. Weight does not ask */
};

/* 0 or -ENOMEM. */
int site_tree_make(const struct site_tree_request *q, struct site_tree *ret);
void site_tree_done(struct site_tree *t);

/* A line of the tree, in the order of telling. */
struct site_row {
        uint32_t
                group; /* REACH_NONE: all other children of the group above, which have the figures below */
        uint32_t depth; /* the first group's is 0 */
        uint64_t n_groups, n_blocks, n_bytes;
};

typedef VEC(struct site_row) site_rows;

/* The largest groups by tree_bytes, at most max_groups, those with less than min_bytes left out. Sums of siblings and the row of the
 * rest are what the group above has below it. 0 or -ENOMEM. */
int site_tree_rows(const struct site_tree *t, uint64_t min_bytes, uint32_t max_groups,
                   site_rows *ret);
