/* SPDX-License-Identifier: MIT */
#include "keep/borrowers.h"

#include <errno.h>
#include <stdlib.h>

enum level { VARIABLES, OWNERS, THREAD_LOCALS, THREADS, MAPPINGS, NOT_REACHED };

static const uint8_t levels[] = {
        [ROOT_PLACE_VARIABLE] = VARIABLES,         [ROOT_PLACE_UNNAMED] = VARIABLES,
        [ROOT_PLACE_THREAD_LOCAL] = THREAD_LOCALS, [ROOT_PLACE_THREAD] = THREADS,
        [ROOT_PLACE_MAPPING] = MAPPINGS,           [ROOT_PLACE_ALLOCATOR] = MAPPINGS,
};

enum {
        MIN_CROWD = 8
}; /* so many blocks of one site are elements of something; what so many elements of one site point to is above them */

#define PLACE_MIXED (REACH_NONE - 1)

struct walk {
        const struct reach_graph *g;
        const struct root_place *places;
        const uint32_t *of_root;
        struct borrowers *b;
        bool *is_crowd;     /* of each block */
        struct map n_above; /* site of elements, block → how many of them point to it */
        uint32_t *
                above; /* of each block: the place of the roots that point to it; REACH_NONE, PLACE_MIXED */
        uint32_t *queue;
        uint32_t n;
};

static void reach_block(struct walk *w, uint32_t block, uint8_t level, uint32_t place) {
        if (w->b->level[block] != NOT_REACHED)
                return;
        w->b->level[block] = level;
        w->b->place[block] = place;
        w->queue[w->n++] = block;
}

static uint64_t up_key(const struct walk *w, uint32_t from, uint32_t to) {
        return (uint64_t)w->g->blocks[from].site << 32 | to;
}

/* Whether a pointer of an element leads to what is above it, or what all share. */
static bool leads_up(const struct walk *w, uint32_t from, uint32_t to) {
        uint64_t n = 0;

        return w->is_crowd[from] &&
               (!w->is_crowd[to] ||
                (map_get(&w->n_above, up_key(w, from, to), &n) && n >= MIN_CROWD));
}

/* stays: not up. */
static void walk_on(struct walk *w, uint32_t from, uint8_t level, bool stays) {
        for (uint32_t i = from; i < w->n; i++) {
                uint32_t block = w->queue[i];

                for (uint64_t e = w->g->first[block]; e < w->g->first[block + 1]; e++) {
                        uint32_t to = reach_edge_block(w->g->edges[e]);

                        if (!stays || !leads_up(w, block, to))
                                reach_block(w, to, level, w->b->place[block]);
                }
        }
}

static bool is_thread(const struct root_place *p) {
        return p->kind == ROOT_PLACE_THREAD || p->kind == ROOT_PLACE_THREAD_LOCAL;
}

/* Several may lead to one block: all of a level that is the first to reach it hold it, and thread-local data holds what a variable does. */
static void walk_level(struct walk *w, uint8_t level) {
        const struct reach_graph *g = w->g;
        uint32_t from = w->n;

        for (uint32_t i = 0; i < g->n_roots; i++) {
                if (levels[w->places[w->of_root[i]].kind] != level)
                        continue;
                for (uint64_t e = g->first[g->n_blocks + i]; e < g->first[g->n_blocks + i + 1];
                     e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);
                        uint8_t reached = w->b->level[to];

                        w->b->counts[i] |= reached >= level ||
                                           (level == THREAD_LOCALS && reached == VARIABLES);
                        reach_block(w, to, level, w->of_root[i]);
                }
        }
        walk_on(w, from, level, false);
}

/* ---- owners ------------------------------------------------------------------------------------------------- */

static void find_crowds(struct walk *w) {
        const struct reach_graph *g = w->g;
        struct map counts = {0};

        for (uint32_t i = 0; i < g->n_blocks; i++)
                ++*map_put(&counts, g->blocks[i].site, 0, NULL);
        for (uint32_t i = 0; i < g->n_blocks; i++) {
                uint64_t n = 0;

                map_get(&counts, g->blocks[i].site, &n);
                w->is_crowd[i] = n >= MIN_CROWD;
        }
        map_done(&counts);
}

/* A block that points to another counts as a place of its own. */
static void find_above(struct walk *w) {
        const struct reach_graph *g = w->g;

        for (uint32_t i = 0; i < g->n_blocks; i++)
                w->above[i] = REACH_NONE;
        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                uint32_t place = i < g->n_blocks ? PLACE_MIXED : w->of_root[i - g->n_blocks];
                bool is_element = i < g->n_blocks && w->is_crowd[i];

                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);

                        if (w->b->level[to] == VARIABLES)
                                continue; /* nobody asks */
                        if (is_element)
                                ++*map_put(&w->n_above, up_key(w, i, to), 0, NULL);
                        else if (to != i && w->above[to] != place)
                                w->above[to] = w->above[to] == REACH_NONE ? place : PLACE_MIXED;
                }
        }
}

static bool is_head(const struct walk *w, reach_edge edge, uint32_t place) {
        const struct reach_graph *g = w->g;
        uint32_t block = reach_edge_block(edge);

        if (reach_edge_kind(edge) != EDGE_START || w->is_crowd[block] || w->above[block] != place)
                return false;
        for (uint64_t e = g->first[block]; e < g->first[block + 1]; e++)
                if (w->is_crowd[reach_edge_block(g->edges[e])])
                        return true;
        return false;
}

/* Whether a thread points to the first byte of what no variable leads to. */
static bool may_own(const struct walk *w) {
        const struct reach_graph *g = w->g;

        for (uint32_t i = 0; i < g->n_roots; i++)
                for (uint64_t e = g->first[g->n_blocks + i];
                     is_thread(&w->places[w->of_root[i]]) && e < g->first[g->n_blocks + i + 1]; e++)
                        if (reach_edge_kind(g->edges[e]) == EDGE_START &&
                            w->b->level[reach_edge_block(g->edges[e])] != VARIABLES)
                                return true;
        return false;
}

static void walk_owners(struct walk *w) {
        const struct reach_graph *g = w->g;
        uint32_t from = w->n;

        if (!may_own(w))
                return;
        find_crowds(w);
        find_above(w);

        for (uint32_t i = 0; i < g->n_roots; i++) {
                if (!is_thread(&w->places[w->of_root[i]]))
                        continue;
                for (uint64_t e = g->first[g->n_blocks + i]; e < g->first[g->n_blocks + i + 1];
                     e++) {
                        if (w->b->level[reach_edge_block(g->edges[e])] < OWNERS ||
                            !is_head(w, g->edges[e], w->of_root[i]))
                                continue;
                        w->b->counts[i] = true;
                        reach_block(w, reach_edge_block(g->edges[e]), OWNERS, w->of_root[i]);
                }
        }
        walk_on(w, from, OWNERS, true);
}

/* What no thread reaches but by owners: single blocks below their elements. */
static void walk_owners_on(struct walk *w) {
        const struct reach_graph *g = w->g;
        uint32_t from = w->n;

        for (uint32_t i = 0; i < g->n_blocks; i++) {
                if (w->b->level[i] != OWNERS)
                        continue;
                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++)
                        reach_block(w, reach_edge_block(g->edges[e]), OWNERS, w->b->place[i]);
        }
        walk_on(w, from, OWNERS, false);
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

int borrowers_find(const struct reach_graph *g, const struct root_place *places,
                   const uint32_t *of_root, struct borrowers *ret) {
        size_t n = MAX(g->n_blocks, 1u);
        struct walk w = {.g = g,
                         .places = places,
                         .of_root = of_root,
                         .b = ret,
                         .is_crowd = malloc(n),
                         .above = malloc(n * sizeof(w.above[0])),
                         .queue = malloc(n * sizeof(w.queue[0]))};
        int r;

        *ret = (struct borrowers){.counts = calloc(MAX(g->n_roots, 1u), sizeof(bool)),
                                  .level = malloc(n),
                                  .place = malloc(n * sizeof(ret->place[0]))};
        r = w.is_crowd && w.above && w.queue && ret->counts && ret->level && ret->place ? 0
                                                                                        : -ENOMEM;
        for (uint32_t i = 0; r == 0 && i < g->n_blocks; i++) {
                ret->level[i] = NOT_REACHED;
                ret->place[i] = REACH_NONE;
        }
        if (r == 0) {
                walk_level(&w, VARIABLES);
                walk_owners(&w);
                walk_level(&w, THREAD_LOCALS);
                walk_level(&w, THREADS);
                walk_owners_on(&w);
                walk_level(&w, MAPPINGS);
        }
        map_done(&w.n_above);
        free(w.is_crowd);
        free(w.above);
        free(w.queue);
        return r;
}

void borrowers_done(struct borrowers *b) {
        free(b->counts);
        free(b->level);
        free(b->place);
        map_done(&b->also);
}

void borrowers_drop_edges(struct borrowers *b, const uint32_t *of_root, struct reach_graph *g) {
        uint64_t at = 0, begin = 0;

        for (uint32_t i = 0; i < reach_n_nodes(g); i++) {
                uint64_t end = g->first[i + 1];
                bool is_root = i >= g->n_blocks;
                uint32_t place = is_root ? of_root[i - g->n_blocks] : b->place[i];

                for (uint64_t e = begin; e < end; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);
                        bool is_owned =
                                b->level[to] == OWNERS && place != b->place[to] &&
                                (is_root ? !b->counts[i - g->n_blocks]
                                         : b->level[i] > OWNERS && b->level[i] != NOT_REACHED);

                        if (is_owned)
                                ++*map_put(&b->also, borrowers_pair(b->place[to], place), 0, NULL);
                        if (!is_owned || is_root)
                                g->edges[at++] = g->edges[e];
                }
                begin = end;
                g->first[i + 1] = at;
        }
}
