/* SPDX-License-Identifier: MIT */
#include "reach/testing/brute_reach.h"

#include <stdlib.h>

bool *brute_reached(const struct reach_graph *g, const bool *without) {
        uint32_t n = reach_n_nodes(g), n_pending = 0;
        bool *reached = calloc((size_t)n + 1, sizeof(bool));
        uint32_t *pending = malloc(((size_t)n + 1) * sizeof(pending[0]));

        for (uint32_t i = g->n_blocks; i < n; i++)
                if (!without || !without[i]) {
                        reached[i] = true;
                        pending[n_pending++] = i;
                }
        while (n_pending) {
                uint32_t at = pending[--n_pending];

                for (uint64_t e = g->first[at]; e < g->first[at + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);

                        if (reached[to] || (without && without[to]))
                                continue;
                        reached[to] = true;
                        pending[n_pending++] = to;
                }
        }
        free(pending);
        return reached;
}

bool *brute_dominates(const struct reach_graph *g) {
        size_t n = reach_n_nodes(g);
        bool *all = brute_reached(g, NULL);
        bool *without = calloc(n + 1, sizeof(bool));
        bool *ret = calloc(n * n + 1, sizeof(bool));

        for (size_t a = 0; a < n; a++) {
                bool *left;

                if (!all[a])
                        continue;
                without[a] = true;
                left = brute_reached(g, without);
                without[a] = false;
                for (size_t b = 0; b < n; b++)
                        ret[a * n + b] = all[b] && !left[b];
                free(left);
        }
        free(all);
        free(without);
        return ret;
}
