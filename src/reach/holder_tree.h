/* SPDX-License-Identifier: MIT */
/* Who keeps what, in few lines: the tree of dominators by allocation site (site_tree.h). A group's outermost_weight is what it retains. */
#pragma once

#include "reach/site_tree.h"

struct holder_tree {
        struct reach_dominators dominators;
        struct site_tree tree;
};

/* places and keys may be NULL. 0 or -ENOMEM. */
int holder_tree_make(const struct reach_graph *g, const struct reach_places *places,
                     const struct site_keys *keys, struct holder_tree *ret);
void holder_tree_done(struct holder_tree *t);
