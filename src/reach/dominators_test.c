/* SPDX-License-Identifier: MIT */
/* Dominators against removing each node and walking again; and large graphs of shapes whose answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/dominators.h"
#include "reach/testing/brute_reach.h"
#include "reach/testing/random_graph.h"

/* The immediate dominator is the one that all other dominators dominate. */
static uint32_t brute_parent(const bool *dominates, uint32_t n, uint32_t node) {
        uint32_t found = n; /* the node above all */

        if (!dominates[(size_t)node * n + node])
                return REACH_NONE;
        for (uint32_t a = 0; a < n; a++)
                if (a != node && dominates[(size_t)a * n + node] &&
                    (found == n || dominates[(size_t)found * n + a]))
                        found = a;
        return found;
}

static void check(const struct reach_graph *g) {
        uint32_t n = reach_n_nodes(g);
        _cleanup_free_ bool *dominates = brute_dominates(g);
        _cleanup_free_ bool *reached = brute_reached(g, NULL);
        struct reach_dominators d;
        uint64_t all_bytes = 0;

        assert_int_equal(reach_dominators_find(g, NULL, &d), 0);
        for (uint32_t a = 0; a < n; a++) {
                uint64_t bytes = 0;

                for (uint32_t b = 0; b < g->n_blocks; b++)
                        bytes += dominates[(size_t)a * n + b] ? g->blocks[b].size_bytes : 0;
                assert_int_equal(d.parent[a], brute_parent(dominates, n, a));
                assert_int_equal(d.retained_bytes[a], bytes);
                all_bytes += a < g->n_blocks && reached[a] ? g->blocks[a].size_bytes : 0;
        }
        assert_int_equal(d.retained_bytes[n], all_bytes);
        assert_int_equal(d.parent[n], REACH_NONE);
        reach_dominators_done(&d);
}

static void equal_brute_force(void **unused) {
        struct draw d = draw_from(seed_of_run());

        for (int i = 0; i < 1000; i++) {
                struct random_graph r;

                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 40), (uint32_t)draw_below(&d, 4));
                check(&r.graph);
                random_graph_done(&r);
        }
}

static void equal_brute_force_where_larger(void **unused) {
        struct draw d = draw_from(seed_of_run() + 1);

        for (int i = 0; i < 2 * N_GRAPH_SHAPES; i++) {
                struct random_graph r;

                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  200 + (uint32_t)draw_below(&d, 200),
                                  1 + (uint32_t)draw_below(&d, 5));
                check(&r.graph);
                random_graph_done(&r);
        }
}

enum { MANY = 1000000 };

static struct random_edge *edges_new(size_t n) {
        return calloc(n, sizeof(struct random_edge));
}

/* root -> 0 -> 1 -> ... and each back to the one before, as doubly linked lists are. */
static void a_list_holds_its_rest(void **unused) {
        _cleanup_free_ struct random_edge *edges = edges_new(2 * MANY);
        struct random_graph r;
        struct reach_dominators d;
        size_t n = 0;

        edges[n++] = (struct random_edge){MANY, 0};
        for (uint32_t i = 0; i + 1 < MANY; i++) {
                edges[n++] = (struct random_edge){i, i + 1};
                edges[n++] = (struct random_edge){i + 1, i};
        }
        random_graph_init_edges(&r, MANY, 1, edges, n);
        assert_int_equal(reach_dominators_find(&r.graph, NULL, &d), 0);
        for (uint32_t i = 0; i < MANY; i++) {
                assert_true(d.parent[i] == (i ? i - 1 : MANY));
                assert_true(d.retained_bytes[i] == 16 * (uint64_t)(MANY - i));
        }
        reach_dominators_done(&d);
        random_graph_done(&r);
}

/* A list whose end and whose head both point to all of the rest: the head holds them. The walk comes to each through the end, a climb of
 * half a million steps away from its holder. */
static void head_and_end_of_a_list_share(void **unused) {
        _cleanup_free_ struct random_edge *edges = edges_new(2 * MANY);
        struct random_graph r;
        struct reach_dominators d;
        size_t n = 0;
        uint32_t end = MANY / 2 - 1;

        edges[n++] = (struct random_edge){MANY, 0};
        for (uint32_t i = 0; i < end; i++)
                edges[n++] = (struct random_edge){i, i + 1};
        for (uint32_t i = end + 1; i < MANY; i++) {
                edges[n++] = (struct random_edge){end, i};
                edges[n++] = (struct random_edge){0, i};
        }
        random_graph_init_edges(&r, MANY, 1, edges, n);
        assert_int_equal(reach_dominators_find(&r.graph, NULL, &d), 0);
        for (uint32_t i = 1; i < MANY; i++)
                assert_true(d.parent[i] == (i <= end ? i - 1 : 0));
        assert_true(d.retained_bytes[0] == 16 * (uint64_t)MANY);
        assert_true(d.retained_bytes[1] == 16 * (uint64_t)end);
        reach_dominators_done(&d);
        random_graph_done(&r);
}

/* Each place as a block that the only root of its own holds, which in turn holds what its roots did: the same answers. */
static void places_hold_as_blocks_would(void **unused) {
        struct draw draw = draw_from(seed_of_run() + 2);

        for (int i = 0; i < 300; i++) {
                uint32_t n_blocks = 1 + (uint32_t)draw_below(&draw, 30),
                         n_roots = 1 + (uint32_t)draw_below(&draw, 8);
                uint32_t of_root[8], n_places = 1, n_all;
                struct random_edge edges[1000];
                size_t n_edges = 0;
                struct random_graph with, plain;
                struct reach_dominators d, plain_d;

                random_graph_init(&with, &draw, (enum graph_shape)(i % N_GRAPH_SHAPES), n_blocks,
                                  n_roots);
                for (uint32_t k = 0; k < n_roots; k++)
                        of_root[k] = k && draw_below(&draw, 2) ? n_places++ : n_places - 1;
                /* blocks, then roots as blocks, then places as blocks */
                n_all = n_blocks + n_roots + n_places;
                for (uint32_t node = 0; node < n_blocks + n_roots; node++)
                        for (uint64_t e = with.graph.first[node]; e < with.graph.first[node + 1];
                             e++) {
                                assert_true(n_edges < ARRAY_SIZE(edges) - 20);
                                edges[n_edges++] = (struct random_edge){node, with.graph.edges[e]};
                        }
                for (uint32_t k = 0; k < n_roots; k++)
                        edges[n_edges++] =
                                (struct random_edge){n_blocks + n_roots + of_root[k], n_blocks + k};
                for (uint32_t k = 0; k < n_places; k++)
                        edges[n_edges++] = (struct random_edge){n_all + k, n_blocks + n_roots + k};
                random_graph_init_edges(&plain, n_all, n_places, edges, n_edges);
                for (uint32_t b = 0; b < n_all; b++)
                        plain.blocks[b].size_bytes = b < n_blocks ? with.blocks[b].size_bytes : 0;
                assert_int_equal(reach_dominators_find(&with.graph,
                                                       &(struct reach_places){of_root, n_places},
                                                       &d),
                                 0);
                assert_int_equal(reach_dominators_find(&plain.graph, NULL, &plain_d), 0);
                assert_int_equal(d.n, n_blocks + n_roots + 1 + n_places);
                for (uint32_t node = 0; node < n_blocks + n_roots; node++) {
                        uint32_t parent = plain_d.parent[node];

                        if (parent == n_all + n_places)
                                parent = reach_above_all(&with.graph);
                        else if (parent != REACH_NONE && parent >= n_blocks + n_roots)
                                parent = reach_place_node(&with.graph, parent - n_blocks - n_roots);
                        assert_int_equal(d.parent[node], parent);
                        assert_int_equal(d.retained_bytes[node], plain_d.retained_bytes[node]);
                }
                for (uint32_t k = 0; k < n_places; k++)
                        assert_int_equal(d.retained_bytes[reach_place_node(&with.graph, k)],
                                         plain_d.retained_bytes[n_blocks + n_roots + k]);
                reach_dominators_done(&d);
                reach_dominators_done(&plain_d);
                random_graph_done(&with);
                random_graph_done(&plain);
        }
}

static void nothing_is_held_without_roots(void **unused) {
        struct random_edge edges[] = {{0, 1}, {1, 0}};
        struct random_graph r;
        struct reach_dominators d;

        random_graph_init_edges(&r, 2, 0, edges, ARRAY_SIZE(edges));
        assert_int_equal(reach_dominators_find(&r.graph, NULL, &d), 0);
        assert_int_equal(d.parent[0], REACH_NONE);
        assert_int_equal(d.retained_bytes[1], 0);
        assert_int_equal(d.retained_bytes[2], 0);
        reach_dominators_done(&d);
        random_graph_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_brute_force),
                cmocka_unit_test(equal_brute_force_where_larger),
                cmocka_unit_test(a_list_holds_its_rest),
                cmocka_unit_test(head_and_end_of_a_list_share),
                cmocka_unit_test(places_hold_as_blocks_would),
                cmocka_unit_test(nothing_is_held_without_roots),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
