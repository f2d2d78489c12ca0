/* SPDX-License-Identifier: MIT */
#include "reach/testing/brute_sites.h"

#include <assert.h>

static uint64_t key_made(enum site_group_kind kind, uint32_t site, uint32_t type) {
        return (uint64_t)kind << 60 | (uint64_t)type << 32 | site;
}

void brute_way_step(struct brute_way *way, const struct reach_graph *g,
                    const struct site_keys *keys, uint32_t node) {
        uint64_t key;

        if (node < g->n_blocks) {
                key = key_made(GROUP_BLOCKS, g->blocks[node].site,
                               keys && keys->type_of ? keys->type_of(keys->ctx, node) : 0);
        } else {
                uint32_t which = node > reach_above_all(g) ? node - reach_above_all(g) - 1
                                                           : node - g->n_blocks;

                key = key_made(GROUP_PLACE,
                               keys && keys->name_of ? keys->name_of(keys->ctx, which) : which, 0);
        }
        for (uint32_t i = way->n; i-- > 0;)
                if (way->keys[i] == key) {
                        way->n = i + 1;
                        return;
                }
        assert(way->n < ARRAY_SIZE(way->keys));
        way->keys[way->n++] = key;
}

struct brute_way brute_way_of_node(const struct reach_graph *g, const uint32_t *parent,
                                   const struct site_keys *keys, uint32_t node) {
        struct brute_way way = {0};
        bool is_root = node >= g->n_blocks && node < reach_above_all(g);

        if (node == reach_above_all(g))
                return way;
        way = brute_way_of_node(g, parent, keys, parent[node]);
        if (!is_root || parent[node] == reach_above_all(g)) /* roots of a place are in its group */
                brute_way_step(&way, g, keys, node);
        return way;
}

struct brute_way brute_way_of_group(const struct site_tree *t, uint32_t group) {
        struct brute_way way = {0};
        const struct site_group *g = &t->groups[group];

        if (g->parent == REACH_NONE)
                return way;
        way = brute_way_of_group(t, g->parent);
        assert(way.n < ARRAY_SIZE(way.keys));
        way.keys[way.n++] = key_made(g->kind, g->site, g->type);
        return way;
}

bool brute_way_begins(const struct brute_way *all, const struct brute_way *beginning) {
        for (uint32_t i = 0; i < beginning->n; i++)
                if (i >= all->n || all->keys[i] != beginning->keys[i])
                        return false;
        return true;
}

bool brute_way_is(const struct brute_way *a, const struct brute_way *b) {
        return a->n == b->n && brute_way_begins(a, b);
}
