/* SPDX-License-Identifier: MIT */
/* Which group a node belongs to, said by the names from the top down, each node's found for itself. */
#pragma once

#include "reach/site_tree.h"

struct brute_way {
        uint64_t keys[64]; /* below the node above all */
        uint32_t n;
};

/* Types and names are those of `keys` (NULL: none). */
struct brute_way brute_way_of_node(const struct reach_graph *g, const uint32_t *parent,
                                   const struct site_keys *keys, uint32_t node);
struct brute_way brute_way_of_group(const struct site_tree *t, uint32_t group);
/* The way a step further: a name that is on it already leads back there. */
void brute_way_step(struct brute_way *way, const struct reach_graph *g,
                    const struct site_keys *keys, uint32_t node);
bool brute_way_is(const struct brute_way *a, const struct brute_way *b);
bool brute_way_begins(const struct brute_way *all, const struct brute_way *beginning);
