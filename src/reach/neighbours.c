/* SPDX-License-Identifier: MIT */
#include "reach/neighbours.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

enum { SEEN_OUTSIDE = 1, SEEN_AMONG = 2 };

struct finder {
        const struct reach_graph *g;
        const struct reach_places *places;
        const struct site_keys *keys;
        const bool *is_in;
        uint8_t *seen;                     /* of each block: in which sums it is */
        struct map rows[GROUP_BLOCKS + 1]; /* site and type to a row, by kind */
};

static struct neighbour named(const struct finder *f, uint32_t node) {
        const struct site_keys *keys = f->keys;
        struct neighbour ret = {.kind = GROUP_PLACE};

        if (node < f->g->n_blocks) {
                ret.kind = GROUP_BLOCKS;
                ret.site = f->g->blocks[node].site;
                ret.type = keys && keys->type_of ? keys->type_of(keys->ctx, node) : 0;
                return ret;
        }
        ret.site = node - f->g->n_blocks;
        if (f->places)
                ret.site = f->places->of_root[ret.site];
        if (keys && keys->name_of)
                ret.site = keys->name_of(keys->ctx, ret.site);
        return ret;
}

static uint32_t row_of(struct finder *f, neighbour_list *list, uint32_t node) {
        struct neighbour one = named(f, node);
        bool is_new;
        uint64_t row =
                *map_put(&f->rows[one.kind], (uint64_t)one.site << 32 | one.type, list->n, &is_new);

        if (is_new)
                vec_push(list, one);
        return (uint32_t)row;
}

static int compare_pairs(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static void add_target(const struct finder *f, struct neighbour *n, uint32_t block) {
        n->n_to++;
        n->to_bytes += f->g->blocks[block].size_bytes;
}

/* Several of a group may point to one block, which counts once: pairs of a row and a block are sorted. */
static void find_held_by(struct finder *f, neighbour_list *ret) {
        const struct reach_graph *g = f->g;
        VEC(uint64_t) pairs = {0};

        for (uint32_t from = 0; from < reach_n_nodes(g); from++) {
                uint32_t row = REACH_NONE;

                for (uint64_t e = f->is_in[from] ? g->first[from + 1] : g->first[from];
                     e < g->first[from + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);

                        if (!f->is_in[to])
                                continue;
                        if (row == REACH_NONE) {
                                row = row_of(f, ret, from);
                                ret->items[row].n_from++;
                        }
                        vec_push(&pairs, (uint64_t)row << 32 | to);
                }
        }
        if (pairs.n)
                qsort(pairs.items, pairs.n, sizeof(pairs.items[0]), compare_pairs);
        for (size_t i = 0; i < pairs.n; i++)
                if (i == 0 || pairs.items[i] != pairs.items[i - 1])
                        add_target(f, &ret->items[pairs.items[i] >> 32], (uint32_t)pairs.items[i]);
        vec_free(&pairs);
}

/* A block is in one row alone. */
static void find_holds(struct finder *f, neighbour_list *ret, struct neighbour *among) {
        const struct reach_graph *g = f->g;
        VEC(uint32_t) last = {0}; /* of each row: who pointed to it last, + 1 */

        for (uint32_t from = 0; from < reach_n_nodes(g); from++) {
                bool is_among = false;

                for (uint64_t e = f->is_in[from] ? g->first[from] : g->first[from + 1];
                     e < g->first[from + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]), row;
                        uint8_t how = f->is_in[to] ? SEEN_AMONG : SEEN_OUTSIDE;
                        bool is_first = !(f->seen[to] & how);

                        f->seen[to] |= how;
                        if (how == SEEN_AMONG) {
                                among->n_from += !is_among;
                                is_among = true;
                                if (is_first)
                                        add_target(f, among, to);
                                continue;
                        }
                        row = row_of(f, ret, to);
                        while (last.n <= row)
                                vec_push(&last, 0);
                        ret->items[row].n_from += last.items[row] != from + 1;
                        last.items[row] = from + 1;
                        if (is_first)
                                add_target(f, &ret->items[row], to);
                }
        }
        vec_free(&last);
}

static int compare_rows(const void *a, const void *b) {
        const struct neighbour *x = a, *y = b;

        if (x->to_bytes != y->to_bytes)
                return x->to_bytes > y->to_bytes ? -1 : 1;
        if (x->n_from != y->n_from)
                return x->n_from > y->n_from ? -1 : 1;
        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        if (x->site != y->site)
                return x->site < y->site ? -1 : 1;
        return x->type < y->type ? -1 : x->type > y->type;
}

static void sort_rows(struct finder *f, neighbour_list *list) {
        if (list->n)
                qsort(list->items, list->n, sizeof(list->items[0]), compare_rows);
        map_done(&f->rows[GROUP_PLACE]);
        map_done(&f->rows[GROUP_BLOCKS]);
        f->rows[GROUP_PLACE] = f->rows[GROUP_BLOCKS] = (struct map){0};
}

int neighbours_find(const struct reach_graph *g, const struct reach_places *places,
                    const struct site_keys *keys, const bool *is_in, struct neighbours *ret) {
        struct finder f = {.g = g,
                           .places = places,
                           .keys = keys,
                           .is_in = is_in,
                           .seen = calloc(MAX(g->n_blocks, 1u), 1)};

        if (!f.seen)
                return -ENOMEM;
        *ret = (struct neighbours){.among = {.kind = GROUP_BLOCKS}};
        find_held_by(&f, &ret->held_by);
        sort_rows(&f, &ret->held_by);
        find_holds(&f, &ret->holds, &ret->among);
        sort_rows(&f, &ret->holds);
        free(f.seen);
        return 0;
}

void neighbours_done(struct neighbours *n) {
        vec_free(&n->held_by);
        vec_free(&n->holds);
}
