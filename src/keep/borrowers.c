/* SPDX-License-Identifier: MIT */
#include "keep/borrowers.h"

#include <errno.h>
#include <stdlib.h>

static const uint8_t levels[] = {
        [ROOT_PLACE_VARIABLE] = 0, [ROOT_PLACE_UNNAMED] = 0, [ROOT_PLACE_THREAD_LOCAL] = 0,
        [ROOT_PLACE_THREAD] = 1,   [ROOT_PLACE_MAPPING] = 2, [ROOT_PLACE_ALLOCATOR] = 2,
};

enum { N_LEVELS = 3, NOT_REACHED = N_LEVELS };

struct walk {
        const struct reach_graph *g;
        uint8_t *level_of; /* of each block: from which level on it is reached */
        uint32_t *queue;
        uint32_t n;
};

static void reach_block(struct walk *w, uint32_t block, uint8_t level) {
        if (w->level_of[block] != NOT_REACHED)
                return;
        w->level_of[block] = level;
        w->queue[w->n++] = block;
}

static void walk_on(struct walk *w, uint32_t from, uint8_t level) {
        for (uint32_t i = from; i < w->n; i++)
                for (uint64_t e = w->g->first[w->queue[i]]; e < w->g->first[w->queue[i] + 1]; e++)
                        reach_block(w, reach_edge_block(w->g->edges[e]), level);
}

/* Several may lead to one block: all of a level that is the first to reach it hold it. */
static void walk_level(struct walk *w, const struct root_place *places, const uint32_t *of_root,
                       uint8_t level, bool *ret) {
        const struct reach_graph *g = w->g;
        uint32_t from = w->n;

        for (uint32_t i = 0; i < g->n_roots; i++) {
                if (levels[places[of_root[i]].kind] != level)
                        continue;
                for (uint64_t e = g->first[g->n_blocks + i]; e < g->first[g->n_blocks + i + 1];
                     e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);

                        ret[i] |= w->level_of[to] >= level;
                        reach_block(w, to, level);
                }
        }
        walk_on(w, from, level);
}

int borrowers_find(const struct reach_graph *g, const struct root_place *places,
                   const uint32_t *of_root, bool *ret) {
        struct walk w = {.g = g,
                         .level_of = malloc(MAX(g->n_blocks, 1u)),
                         .queue = malloc(MAX(g->n_blocks, 1u) * sizeof(w.queue[0]))};
        int r = w.level_of && w.queue ? 0 : -ENOMEM;

        for (uint32_t i = 0; r == 0 && i < g->n_blocks; i++)
                w.level_of[i] = NOT_REACHED;
        for (uint8_t level = 0; r == 0 && level < N_LEVELS; level++)
                walk_level(&w, places, of_root, level, ret);
        free(w.level_of);
        free(w.queue);
        return r;
}
