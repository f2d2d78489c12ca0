/* SPDX-License-Identifier: MIT */
/* What points to some nodes, and what they point to, grouped as site_tree.h names nodes: by site and type, by place. */
#pragma once

#include "reach/site_tree.h"

struct neighbour {
        enum site_group_kind kind; /* GROUP_BLOCKS, GROUP_PLACE */
        uint32_t site, type;       /* as of a site_group */
        uint64_t n_from;           /* blocks that point, or words of a place; each once */
        uint64_t n_to, to_bytes;   /* blocks that they point to; each once */
};

typedef VEC(struct neighbour) neighbour_list;

struct neighbours {
        neighbour_list held_by; /* they point to the nodes; those that point to most bytes first */
        neighbour_list holds;   /* the nodes point to them; those with most bytes first */
        struct neighbour among; /* the nodes to each other */
};

/* is_in: of each block and each root, whether it is one of the nodes. places and keys may be NULL. 0 or -ENOMEM. */
int neighbours_find(const struct reach_graph *g, const struct reach_places *places,
                    const struct site_keys *keys, const bool *is_in, struct neighbours *ret);
void neighbours_done(struct neighbours *n);
