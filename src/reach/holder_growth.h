/* SPDX-License-Identifier: MIT */
/* Two moments beside each other: what grew, and in which holder. Groups are the same whose names, sites and types are, from the node above
 * all on down. */
#pragma once

#include "reach/holder_tree.h"

struct growth_row {
        uint32_t
                parent; /* another row, before this one; REACH_NONE: of the first, which is everything */
        uint32_t before, after;      /* groups; REACH_NONE: not there at that moment */
        int64_t n_blocks, own_bytes; /* more than before, or less */
        int64_t tree_blocks, tree_bytes;
        int64_t retained_bytes;
};

struct holder_growth {
        struct growth_row *rows;
        uint32_t n;
};

/* Both trees: sites, types and names mean the same in both. 0 or -ENOMEM. */
int holder_growth_find(const struct site_tree *before, const struct site_tree *after,
                       struct holder_growth *ret);
void holder_growth_done(struct holder_growth *g);

/* From everything on down, as long as one group below has at least half of what its parent grew by: the rows on that way, ret[0] first, at
 * most max of them. 0: nothing grew. */
uint32_t holder_growth_way(const struct holder_growth *g, uint32_t *ret, uint32_t max);

/* Of such a way: where blocks got more in something that got no more itself. The holder is row ret[i - 1], the blocks ret[i], i being what is
 * returned; 0: there is no such place. */
uint32_t holder_growth_place(const struct holder_growth *g, const uint32_t *way, uint32_t n);
