/* SPDX-License-Identifier: MIT */
/* Semi-NCA (Georgiadis and Tarjan): nodes are numbered in the order of a walk into the depth; each gets its semidominator; its immediate
 * dominator is then the nearest common ancestor, in the tree found so far, of its parent in the walk and its semidominator.
 *
 * Two things differ from the paper. Ways that lead ahead in the walk need no reverse list: they are taken as they are met. And the last
 * step climbs by jumps of growing length (Myers, "An applicative random-access stack"): a list of a million nodes whose end and whose
 * head both point to the same million blocks would take 10^12 steps otherwise.
 *
 * All arrays but `number` are by place in the walk. The node above all is the first. */
#include "reach/dominators.h"

#include <errno.h>
#include <string.h>

/* What two phases keep of a node, in the memory that becomes retained_bytes. */
union place {
        uint64_t edge; /* the walk: the next one to look at */
        struct {
                uint32_t up;  /* some ancestor in the walk, ... */
                uint32_t min; /* ... and the least semidominator from here to below it */
        };
        struct {
                uint32_t jump; /* an ancestor in the tree of dominators */
                uint32_t depth;
        };
};

_Static_assert(sizeof(union place) == sizeof(uint64_t), "places are kept in retained_bytes");

struct work {
        const struct reach_graph *g;
        const struct reach_places *places; /* or NULL */
        uint32_t n_nodes;
        uint32_t n;       /* nodes that were reached, with the one above all */
        uint32_t *number; /* of each node: its place in the walk; becomes reach_dominators.parent */
        union place *place; /* becomes reach_dominators.retained_bytes */
        uint32_t *node;
        uint32_t *semi;
        uint32_t *dom; /* first the parent in the walk */
        uint64_t
                *first; /* of the ways that lead back or across to each node, in `from`; one more */
        uint32_t *from;
};

static void work_done(struct work *w) {
        free(w->number);
        free(w->place);
        free(w->node);
        free(w->semi);
        free(w->dom);
        free(w->first);
        free(w->from);
}

static int work_init(struct work *w, const struct reach_graph *g,
                     const struct reach_places *places) {
        size_t n = (size_t)reach_n_nodes(g) + 1 + (places ? places->n : 0);

        *w = (struct work){
                .g = g,
                .places = places,
                .n_nodes = (uint32_t)n,
                .number = malloc(n * sizeof(w->number[0])),
                .place = malloc(n * sizeof(w->place[0])),
                .node = malloc(n * sizeof(w->node[0])),
                .semi = malloc(n * sizeof(w->semi[0])),
                .dom = malloc(n * sizeof(w->dom[0])),
                .first = calloc(n + 1, sizeof(w->first[0])),
        };
        if (!w->number || !w->place || !w->node || !w->semi || !w->dom || !w->first)
                return -ENOMEM;
        memset(w->number, 0xff, n * sizeof(w->number[0])); /* REACH_NONE */
        return 0;
}

static uint32_t visit(struct work *w, uint32_t node, uint32_t parent) {
        uint32_t i = w->n++;

        w->number[node] = i;
        w->node[i] = node;
        w->dom[i] = w->semi[i] = parent;
        return i;
}

/* Everything that is not numbered yet and that a root leads to. The way back up is in `dom`: no stack is needed. */
static void walk_from(struct work *w, uint32_t root, uint32_t parent) {
        const struct reach_graph *g = w->g;
        uint32_t at = visit(w, root, parent);

        w->place[at].edge = g->first[root];
        while (at != parent) {
                uint64_t edge = w->place[at].edge, end = g->first[w->node[at] + 1];
                uint32_t to;

                while (edge < end && w->number[reach_edge_block(g->edges[edge])] != REACH_NONE)
                        edge++;
                if (edge == end) {
                        at = w->dom[at];
                        continue;
                }
                w->place[at].edge = edge + 1;
                to = reach_edge_block(g->edges[edge]);
                at = visit(w, to, at);
                w->place[at].edge = g->first[to];
        }
}

static void walk(struct work *w) {
        const struct reach_graph *g = w->g;
        uint32_t parent = visit(w, reach_above_all(g), 0);

        for (uint32_t i = 0; i < g->n_roots; i++) {
                if (w->places && (i == 0 || w->places->of_root[i] != w->places->of_root[i - 1]))
                        parent = visit(w, reach_place_node(g, w->places->of_root[i]), 0);
                walk_from(w, g->n_blocks + i, parent);
        }
}

static uint64_t first_way(const struct reach_graph *g, uint32_t node) {
        return node < reach_n_nodes(g) ? g->first[node] : 0;
}

static uint64_t end_of_ways(const struct reach_graph *g, uint32_t node) {
        return node < reach_n_nodes(g) ? g->first[node + 1] : 0;
}

/* Ways ahead count at once, the others are listed by where they lead. What is above the roots leads to nothing else. */
static int list_ways_back(struct work *w) {
        const struct reach_graph *g = w->g;

        for (uint32_t i = 1; i < w->n; i++) {
                uint32_t node = w->node[i];

                for (uint64_t e = first_way(g, node); e < end_of_ways(g, node); e++) {
                        uint32_t to = w->number[reach_edge_block(g->edges[e])];

                        if (to > i)
                                w->semi[to] = MIN(w->semi[to], i);
                        else if (to < i)
                                w->first[to]++;
                }
        }
        /* from each node's last one on: they are filled in from behind */
        for (uint32_t i = 1; i <= w->n; i++)
                w->first[i] += w->first[i - 1];
        w->from = malloc((w->first[w->n] + 1) * sizeof(w->from[0]));
        if (!w->from)
                return -ENOMEM;
        for (uint32_t i = 1; i < w->n; i++) {
                uint32_t node = w->node[i];

                for (uint64_t e = first_way(g, node); e < end_of_ways(g, node); e++) {
                        uint32_t to = w->number[reach_edge_block(g->edges[e])];

                        if (to < i)
                                w->from[--w->first[to]] = i;
                }
        }
        return 0;
}

/* The least semidominator on the way in the walk from below `limit` to `at`. Shortens that way; on the way up its links are turned around
 * and on the way down again. */
static uint32_t least_semi(union place *place, uint32_t at, uint32_t limit) {
        uint32_t below = REACH_NONE, top, min;

        while (place[at].up > limit) {
                uint32_t above = place[at].up;

                place[at].up = below;
                below = at;
                at = above;
        }
        top = place[at].up;
        min = place[at].min;
        while (below != REACH_NONE) {
                uint32_t next = place[below].up;

                place[below].up = top;
                min = place[below].min = MIN(place[below].min, min);
                below = next;
        }
        return min;
}

static void find_semidominators(struct work *w) {
        for (uint32_t i = 0; i < w->n; i++)
                w->place[i].up = w->dom[i];
        for (uint32_t i = w->n - 1; i > 0; i--) {
                uint32_t semi = w->semi[i];

                for (uint64_t e = w->first[i]; e < w->first[i + 1]; e++)
                        semi = MIN(semi, least_semi(w->place, w->from[e], i));
                w->semi[i] = w->place[i].min = semi;
        }
}

static void find_dominators(struct work *w) {
        union place *place = w->place;

        place[0].jump = place[0].depth = 0;
        for (uint32_t i = 1; i < w->n; i++) {
                uint32_t dom = w->dom[i], jump;

                while (dom > w->semi[i])
                        dom = place[dom].jump > w->semi[i] ? place[dom].jump : w->dom[dom];
                w->dom[i] = dom;
                jump = place[dom].jump;
                place[i].depth = place[dom].depth + 1;
                place[i].jump = place[dom].depth - place[jump].depth ==
                                                place[jump].depth - place[place[jump].jump].depth
                                        ? place[jump].jump
                                        : dom;
        }
}

/* From places in the walk to nodes. */
static void hand_over(struct work *w, struct reach_dominators *ret) {
        const struct reach_graph *g = w->g;
        uint64_t *bytes = w->first; /* not needed any more */

        for (uint32_t i = 0; i < w->n; i++)
                bytes[i] = w->node[i] < g->n_blocks ? g->blocks[w->node[i]].size_bytes : 0;
        for (uint32_t i = w->n - 1; i > 0; i--)
                bytes[w->dom[i]] += bytes[i];
        ret->n = w->n_nodes;
        ret->parent = TAKE_PTR(w->number);
        ret->retained_bytes = (uint64_t *)TAKE_PTR(w->place);
        memset(ret->retained_bytes, 0, (size_t)w->n_nodes * sizeof(ret->retained_bytes[0]));
        for (uint32_t i = 0; i < w->n; i++) {
                ret->parent[w->node[i]] = i ? w->node[w->dom[i]] : REACH_NONE;
                ret->retained_bytes[w->node[i]] = bytes[i];
        }
}

int reach_dominators_find(const struct reach_graph *g, const struct reach_places *places,
                          struct reach_dominators *ret) {
        _cleanup_(work_done) struct work w;
        int r = work_init(&w, g, places);

        if (r < 0)
                return r;
        walk(&w);
        r = list_ways_back(&w);
        if (r < 0)
                return r;
        find_semidominators(&w);
        find_dominators(&w);
        hand_over(&w, ret);
        return 0;
}

void reach_dominators_done(struct reach_dominators *d) {
        free(d->parent);
        free(d->retained_bytes);
        d->parent = NULL;
        d->retained_bytes = NULL;
}
