/* SPDX-License-Identifier: MIT */
/* Graphs drawn at random are graphs: what other tests rest on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/testing/random_graph.h"

static void edges_are_of_blocks_that_exist(void **unused) {
        struct draw d = draw_from(seed_of_run());

        for (int i = 0; i < 200; i++) {
                struct random_graph r;
                const struct reach_graph *g = &r.graph;

                random_graph_init(&r, &d, (enum graph_shape)(i % N_GRAPH_SHAPES),
                                  (uint32_t)draw_below(&d, 50), (uint32_t)draw_below(&d, 4));
                assert_true(g->first[0] == 0);
                for (uint32_t node = 0; node < reach_n_nodes(g); node++)
                        assert_true(g->first[node] <= g->first[node + 1]);
                for (uint64_t e = 0; e < reach_n_edges(g); e++)
                        assert_true(reach_edge_block(g->edges[e]) < g->n_blocks);
                random_graph_done(&r);
        }
}

static void edges_given_are_kept_in_order(void **unused) {
        struct random_edge edges[] = {{2, reach_edge_make(1, EDGE_START)},
                                      {0, reach_edge_make(1, EDGE_INTERIOR)},
                                      {2, reach_edge_make(0, EDGE_START)},
                                      {2, reach_edge_make(1, EDGE_START)}};
        struct random_graph r;

        random_graph_init_edges(&r, 2, 1, edges, ARRAY_SIZE(edges));
        assert_int_equal(reach_n_edges(&r.graph), 4);
        assert_int_equal(r.graph.first[1], 1);
        assert_int_equal(r.graph.first[2], 1);
        assert_int_equal(reach_edge_kind(r.graph.edges[0]), EDGE_INTERIOR);
        assert_int_equal(reach_edge_block(r.graph.edges[1]), 1);
        assert_int_equal(reach_edge_block(r.graph.edges[2]), 0);
        assert_int_equal(reach_edge_block(r.graph.edges[3]), 1);
        random_graph_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(edges_are_of_blocks_that_exist),
                cmocka_unit_test(edges_given_are_kept_in_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
