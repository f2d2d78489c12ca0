/* SPDX-License-Identifier: MIT */
/* Who keeps whom: A dominates B when every way from the roots to B leads through A. */
#pragma once

#include "reach/reach_graph.h"

#define REACH_NONE UINT32_MAX
/* The node that all roots hang from: its number is reach_n_nodes(g). */

struct reach_dominators {
        /* of each node: its immediate dominator; REACH_NONE: nothing leads to it. A root's is the node above all */
        uint32_t *parent;
        /* of each node: its own bytes and those of all it dominates, 0 if nothing leads to it. A root has none of its own. One more, of
         * the node above all: all that is reachable */
        uint64_t *retained_bytes;
};

/* 0 or -ENOMEM. Works without recursion, in time that grows almost only with nodes and edges. */
int reach_dominators_find(const struct reach_graph *g, struct reach_dominators *ret);
void reach_dominators_done(struct reach_dominators *d);
