/* SPDX-License-Identifier: MIT */
/* Neighbours against asking every pair of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/neighbours.h"
#include "reach/testing/random_graph.h"

enum { N_GRAPHS = 500, MAX_NODES = 40, N_PLACES = 4 };

static uint32_t odd_type(void *ctx, uint32_t block) {
        (void)ctx;
        return block % 3;
}

static uint32_t name_of_place(void *ctx, uint32_t place) {
        (void)ctx;
        return place % 3;
}

static const struct site_keys keys = {.type_of = odd_type, .name_of = name_of_place};

struct asked {
        const struct reach_graph *g;
        const struct reach_places *places;
        const bool *is_in;
};

static bool points(const struct reach_graph *g, uint32_t from, uint32_t to) {
        for (uint64_t e = g->first[from]; e < g->first[from + 1]; e++)
                if (reach_edge_block(g->edges[e]) == to)
                        return true;
        return false;
}

static bool is_named(const struct asked *a, uint32_t node, const struct neighbour *row) {
        if (node < a->g->n_blocks)
                return row->kind == GROUP_BLOCKS && a->g->blocks[node].site == row->site &&
                       odd_type(NULL, node) == row->type;
        return row->kind == GROUP_PLACE &&
               name_of_place(NULL, a->places->of_root[node - a->g->n_blocks]) == row->site;
}

/* Of those outside that are named so, or of all nodes with each other if row is NULL. */
static struct neighbour brute(const struct asked *a, const struct neighbour *row, bool is_holds) {
        const struct reach_graph *g = a->g;
        bool is_from[2 * MAX_NODES] = {0}, is_to[MAX_NODES] = {0};
        struct neighbour ret = {0};

        for (uint32_t from = 0; from < reach_n_nodes(g); from++)
                for (uint32_t to = 0; to < g->n_blocks; to++) {
                        bool from_in = a->is_in[from], to_in = a->is_in[to], counts;

                        if (!row)
                                counts = from_in && to_in;
                        else if (is_holds)
                                counts = from_in && !to_in && is_named(a, to, row);
                        else
                                counts = !from_in && to_in && is_named(a, from, row);
                        if (!counts || !points(g, from, to))
                                continue;
                        is_from[from] = is_to[to] = true;
                }
        for (uint32_t i = 0; i < reach_n_nodes(g); i++)
                ret.n_from += is_from[i];
        for (uint32_t i = 0; i < g->n_blocks; i++)
                if (is_to[i]) {
                        ret.n_to++;
                        ret.to_bytes += g->blocks[i].size_bytes;
                }
        return ret;
}

static void expect_same(const struct neighbour *got, const struct neighbour *want) {
        assert_int_equal(got->n_from, want->n_from);
        assert_int_equal(got->n_to, want->n_to);
        assert_int_equal(got->to_bytes, want->to_bytes);
}

/* Each row is right, no two have one name, and every neighbour has a row. */
static void check_rows(const struct asked *a, const neighbour_list *rows, bool is_holds) {
        const struct reach_graph *g = a->g;

        for (size_t i = 0; i < rows->n; i++) {
                struct neighbour want = brute(a, &rows->items[i], is_holds);

                assert_true(want.n_from > 0);
                expect_same(&rows->items[i], &want);
                if (i)
                        assert_true(rows->items[i].to_bytes <= rows->items[i - 1].to_bytes);
                for (size_t k = 0; k < i; k++)
                        assert_false(rows->items[i].kind == rows->items[k].kind &&
                                     rows->items[i].site == rows->items[k].site &&
                                     rows->items[i].type == rows->items[k].type);
        }
        for (uint32_t from = 0; from < reach_n_nodes(g); from++)
                for (uint32_t to = 0; to < g->n_blocks; to++) {
                        uint32_t other = is_holds ? to : from;
                        bool is_known = false;

                        if (a->is_in[from] != is_holds || a->is_in[to] == is_holds ||
                            !points(g, from, to))
                                continue;
                        for (size_t i = 0; i < rows->n; i++)
                                is_known |= is_named(a, other, &rows->items[i]);
                        assert_true(is_known);
                }
}

static void test_random(void **state) {
        (void)state;
        for (unsigned i = 0; i < N_GRAPHS; i++) {
                struct draw d = draw_from(seed_of_run() * N_GRAPHS + i);
                uint32_t n_blocks = 1 + (uint32_t)draw_below(&d, MAX_NODES - 1);
                uint32_t n_roots = (uint32_t)draw_below(&d, MAX_NODES), of_root[MAX_NODES];
                struct reach_places places = {.of_root = of_root, .n = N_PLACES};
                bool is_in[2 * MAX_NODES] = {0};
                struct random_graph r;
                struct neighbours found;
                struct neighbour among;
                struct asked a;

                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES), n_blocks,
                                  n_roots);
                for (uint32_t k = 0; k < n_roots; k++)
                        of_root[k] = k * N_PLACES / n_roots;
                for (uint32_t k = 0; k < n_blocks + n_roots; k++)
                        is_in[k] = draw_below(&d, 3) == 0;
                a = (struct asked){&r.graph, &places, is_in};
                assert_int_equal(neighbours_find(&r.graph, &places, &keys, is_in, &found), 0);
                check_rows(&a, &found.held_by, false);
                check_rows(&a, &found.holds, true);
                among = brute(&a, NULL, true);
                expect_same(&found.among, &among);
                neighbours_done(&found);
                random_graph_done(&r);
        }
}

/* A list: its nodes point to each other, a root to the first, and each to a payload. */
static void test_list(void **state) {
        const struct random_edge edges[] = {{0, 1}, {1, 2}, {0, 3}, {1, 4}, {2, 4}, {5, 0}};
        bool is_in[6] = {true, true, true};
        struct random_graph r;
        struct neighbours n;

        (void)state;
        random_graph_init_edges(&r, 5, 1, edges, ARRAY_SIZE(edges));
        r.blocks[3].site = r.blocks[4].site = 7;
        assert_int_equal(neighbours_find(&r.graph, NULL, NULL, is_in, &n), 0);
        assert_int_equal(n.held_by.n, 1);
        assert_int_equal(n.held_by.items[0].kind, GROUP_PLACE);
        expect_same(&n.held_by.items[0],
                    &(struct neighbour){.n_from = 1, .n_to = 1, .to_bytes = 16});
        assert_int_equal(n.holds.n, 1);
        assert_int_equal(n.holds.items[0].site, 7);
        expect_same(&n.holds.items[0], &(struct neighbour){.n_from = 3, .n_to = 2, .to_bytes = 32});
        expect_same(&n.among, &(struct neighbour){.n_from = 2, .n_to = 2, .to_bytes = 32});
        neighbours_done(&n);
        random_graph_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                           cmocka_unit_test(test_list)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
