/* SPDX-License-Identifier: MIT */
#include "keep/nearest_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Appends the targets of a node that no place has yet; how many are in the queue then. */
static uint32_t take_targets(const struct reach_graph *g, uint32_t node, uint32_t place,
                             uint32_t *ret, uint32_t *queue, uint32_t n) {
        for (uint64_t e = g->first[node]; e < g->first[node + 1]; e++) {
                uint32_t to = reach_edge_block(g->edges[e]);

                if (ret[to] != REACH_NONE)
                        continue;
                ret[to] = place;
                queue[n++] = to;
        }
        return n;
}

int nearest_places_find(const struct reach_graph *g, const struct root_places *places,
                        uint32_t *ret) {
        uint32_t *queue = malloc(MAX(g->n_blocks, 1u) * sizeof(queue[0])), n = 0;

        if (!queue)
                return -ENOMEM;
        for (uint32_t i = 0; i < g->n_blocks; i++)
                ret[i] = REACH_NONE;
        for (int named = 1; named >= 0; named--)
                for (uint32_t i = 0; i < g->n_roots; i++) {
                        uint32_t place = places->places.of_root[i];
                        bool is_named = places->list.items[place].kind == ROOT_PLACE_VARIABLE;

                        if (is_named == named)
                                n = take_targets(g, g->n_blocks + i, place, ret, queue, n);
                }
        for (uint32_t i = 0; i < n; i++)
                n = take_targets(g, queue[i], ret[queue[i]], ret, queue, n);
        free(queue);
        return 0;
}
