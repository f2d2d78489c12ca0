/* SPDX-License-Identifier: MIT */
#include "reach/why.h"

#include <errno.h>
#include <string.h>

struct walk {
        const struct reach_graph *g;
        uint32_t *parent; /* of each node, on a shortest way; REACH_NONE: not reached */
        uint32_t *queue;  /* nodes in the order in which they are reached */
        uint32_t n;       /* so many were */
};

static void walk_done(struct walk *w) {
        free(w->parent);
        free(w->queue);
}

/* From all roots at once, each step one pointer further; never through blocks that are left out. */
static int walk_widening(struct walk *w, const struct reach_places *places, uint32_t n_nodes,
                         const bool *left_out) {
        const struct reach_graph *g = w->g;

        if (!w->parent)
                w->parent = malloc((size_t)n_nodes * sizeof(w->parent[0]));
        if (!w->queue)
                w->queue = malloc((size_t)n_nodes * sizeof(w->queue[0]));
        if (!w->parent || !w->queue)
                return -ENOMEM;
        memset(w->parent, 0xff, (size_t)n_nodes * sizeof(w->parent[0])); /* REACH_NONE */
        w->n = 0;
        for (uint32_t i = 0; i < g->n_roots; i++) {
                uint32_t above = reach_above_all(g);

                if (places) {
                        uint32_t place = reach_place_node(g, places->of_root[i]);

                        w->parent[place] = above;
                        above = place;
                }
                w->parent[g->n_blocks + i] = above;
                w->queue[w->n++] = g->n_blocks + i;
        }
        for (uint32_t i = 0; i < w->n; i++)
                for (uint64_t e = g->first[w->queue[i]]; e < g->first[w->queue[i] + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);

                        if (w->parent[to] != REACH_NONE || (left_out && left_out[to]))
                                continue;
                        w->parent[to] = w->queue[i];
                        w->queue[w->n++] = to;
                }
        return 0;
}

static struct reach_sum sum_reached(const struct walk *w) {
        struct reach_sum sum = {0};

        for (uint32_t i = w->g->n_roots; i < w->n; i++) {
                sum.n_blocks++;
                sum.n_bytes += w->g->blocks[w->queue[i]].size_bytes;
        }
        return sum;
}

static void sum_wanted(const struct walk *w, const bool *wanted, struct why *ret) {
        for (uint32_t i = 0; i < w->g->n_blocks; i++) {
                if (!wanted[i])
                        continue;
                ret->wanted.n_blocks++;
                ret->wanted.n_bytes += w->g->blocks[i].size_bytes;
                if (w->parent[i] == REACH_NONE) {
                        ret->unreachable.n_blocks++;
                        ret->unreachable.n_bytes += w->g->blocks[i].size_bytes;
                }
        }
}

/* Ways that end at no wanted block are cut off, from their ends on: a node is reached after the one it is reached from. */
static int keep_ways(struct walk *w, uint32_t n_nodes, const bool *wanted) {
        const struct reach_graph *g = w->g;
        _cleanup_free_ bool *is_on_way = calloc(n_nodes, sizeof(bool));

        if (!is_on_way)
                return -ENOMEM;
        for (uint32_t i = w->n; i-- > 0;) {
                uint32_t node = w->queue[i];

                if (is_on_way[node] || (node < g->n_blocks && wanted[node]))
                        is_on_way[w->parent[node]] = true;
                else
                        w->parent[node] = REACH_NONE;
        }
        for (uint32_t place = reach_place_node(g, 0); place < n_nodes; place++)
                if (!is_on_way[place])
                        w->parent[place] = REACH_NONE;
        return 0;
}

int why_find(const struct reach_graph *g, const bool *wanted, const struct reach_places *places,
             const struct site_keys *keys, struct why *ret) {
        _cleanup_(walk_done) struct walk w = {.g = g};
        struct why why = {0};
        struct reach_sum all, left;
        uint32_t n_nodes = reach_n_nodes(g) + 1 + (places ? places->n : 0);
        int r = walk_widening(&w, places, n_nodes, wanted);

        if (r < 0)
                return r;
        left = sum_reached(&w);
        r = walk_widening(&w, places, n_nodes, NULL);
        if (r < 0)
                return r;
        all = sum_reached(&w);
        why.freed = (struct reach_sum){all.n_blocks - left.n_blocks, all.n_bytes - left.n_bytes};
        sum_wanted(&w, wanted, &why);
        r = keep_ways(&w, n_nodes, wanted);
        if (r < 0)
                return r;
        r = site_tree_make(&(struct site_tree_request){.g = g,
                                                       .parent = w.parent,
                                                       .n_nodes = n_nodes,
                                                       .keys = keys,
                                                       .counted = wanted},
                           &why.tree);
        if (r < 0)
                return r;
        *ret = why;
        return 0;
}

void why_done(struct why *w) {
        site_tree_done(&w->tree);
}
