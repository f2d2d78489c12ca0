/* SPDX-License-Identifier: MIT */
#include "keep/nearest_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A place comes to each block once, and to at most so many. */
struct step {
        uint32_t block, place;
};

struct spread {
        const struct reach_graph *g;
        const struct root_places *places;
        struct nearest_places *ret;
        struct step *queue;
        uint64_t n;
};

static bool take(struct spread *s, uint32_t block, uint32_t place) {
        uint32_t *of = s->ret[block].of;

        for (int i = 0; i < NEAREST_PLACES; i++) {
                if (of[i] == REACH_NONE) {
                        of[i] = place;
                        return true;
                }
                if (s->places->list.items[of[i]].name == s->places->list.items[place].name)
                        return false;
        }
        return false;
}

static void take_targets(struct spread *s, uint32_t node, uint32_t place) {
        for (uint64_t e = s->g->first[node]; e < s->g->first[node + 1]; e++) {
                uint32_t to = reach_edge_block(s->g->edges[e]);

                if (take(s, to, place))
                        s->queue[s->n++] = (struct step){to, place};
        }
}

int nearest_places_find(const struct reach_graph *g, const struct root_places *places,
                        struct nearest_places *ret) {
        struct spread s = {.g = g,
                           .places = places,
                           .ret = ret,
                           .queue = malloc(MAX(g->n_blocks, 1u) * NEAREST_PLACES *
                                           sizeof(s.queue[0]))};

        if (!s.queue)
                return -ENOMEM;
        for (uint32_t i = 0; i < g->n_blocks; i++)
                for (int k = 0; k < NEAREST_PLACES; k++)
                        ret[i].of[k] = REACH_NONE;
        for (int named = 1; named >= 0; named--)
                for (uint32_t i = 0; i < g->n_roots; i++) {
                        uint32_t place = places->places.of_root[i];
                        bool is_named = places->list.items[place].kind == ROOT_PLACE_VARIABLE;

                        if (is_named == named)
                                take_targets(&s, g->n_blocks + i, place);
                }
        for (uint64_t i = 0; i < s.n; i++)
                take_targets(&s, s.queue[i].block, s.queue[i].place);
        free(s.queue);
        return 0;
}
