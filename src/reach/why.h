/* SPDX-License-Identifier: MIT */
/* Why are these blocks still there? The shortest way from the roots to each of them, told by the sites it leads through. */
#pragma once

#include "reach/site_tree.h"

struct reach_sum {
        uint64_t n_blocks, n_bytes;
};

struct why {
        /* Of the blocks that are asked about: n_blocks and own_bytes of a group; those that a way through it leads to: tree_blocks and
         * tree_bytes. A way that comes back to a site leads on from the group above: what is between may count none. */
        struct site_tree tree;
        struct reach_sum wanted;      /* with those that nothing leads to */
        struct reach_sum unreachable; /* of these */
        /* what would be freed if all of them were let go, they themselves among it: what nothing leads to without them */
        struct reach_sum freed;
};

/* wanted: of each block. places and keys may be NULL. 0 or -ENOMEM. */
int why_find(const struct reach_graph *g, const bool *wanted, const struct reach_places *places,
             const struct site_keys *keys, struct why *ret);
void why_done(struct why *w);
