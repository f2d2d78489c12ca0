/* SPDX-License-Identifier: MIT */
/* Who keeps whom: A dominates B when every way from the roots to B leads through A. */
#pragma once

#include "reach/reach_graph.h"

#define REACH_NONE UINT32_MAX

/* Where roots are, for those who have names for it. Two words of one variable that point to the two ends of a list keep it together, and
 * neither does alone: the variable does. Places are nodes too, between their roots and the node above all. */
struct reach_places {
        const uint32_t *of_root; /* never less than the root before has; all below n */
        uint32_t n;
};

/* The node that all places hang from, or all roots where none are given: the one behind the roots. Places are behind it. */
static inline uint32_t reach_above_all(const struct reach_graph *g) {
        return reach_n_nodes(g);
}

static inline uint32_t reach_place_node(const struct reach_graph *g, uint32_t place) {
        return reach_n_nodes(g) + 1 + place;
}

struct reach_dominators {
        uint32_t n; /* nodes: blocks, roots, the one above all, places */
        /* of each node: its immediate dominator; REACH_NONE: nothing leads to it */
        uint32_t *parent;
        /* of each node: its own bytes and those of all it dominates, 0 if nothing leads to it. Only blocks have bytes of their own. Of the
         * node above all: all that is reachable */
        uint64_t *retained_bytes;
};

/* `places` may be NULL. 0 or -ENOMEM. Works without recursion, in time that grows almost only with nodes and edges. */
int reach_dominators_find(const struct reach_graph *g, const struct reach_places *places,
                          struct reach_dominators *ret);
void reach_dominators_done(struct reach_dominators *d);
