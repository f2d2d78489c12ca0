/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/leak_classes.h"
#include "reach/settled_graph.h"
#include "reach/testing/draw.h"
#include "reach/testing/drawn_heap.h"

enum { N_DRAWS = 300 };

static uint64_t n_edges_between(const struct heap_graph *h, uint64_t from, uint64_t to) {
        const struct reach_graph *g = &h->graph;
        uint64_t n = 0;

        for (uint32_t i = 0; i < g->n_blocks; i++)
                for (uint64_t e = g->first[i]; g->blocks[i].address == from && e < g->first[i + 1];
                     e++)
                        n += g->blocks[reach_edge_block(g->edges[e])].address == to;
        return n;
}

/* Of what is loose, some stays: the others are gone, and nothing else has changed. */
static void test_takes_out(void **state) {
        (void)state;
        for (unsigned i = 0; i < N_DRAWS; i++) {
                struct draw d = draw_from(seed_of_run() + i);
                struct heap_graph before, h;
                loose_list loose = {0}, kept = {0};
                uint64_t n_blocks, n_bytes, want_blocks = 0, want_bytes = 0;

                drawn_heap_make(&d, &h);
                d = draw_from(seed_of_run() + i);
                drawn_heap_make(&d, &before);
                assert_int_equal(loose_find(&h, &loose), 0);
                for (size_t k = 0; k < loose.n; k++)
                        if (draw_below(&d, 2)) {
                                vec_push(&kept, loose.items[k]);
                        } else {
                                want_blocks++;
                                want_bytes += loose.items[k].size_bytes;
                        }
                assert_int_equal(settle_graph(&h, &kept, &n_blocks, &n_bytes), 0);
                assert_int_equal(n_blocks, want_blocks);
                assert_int_equal(n_bytes, want_bytes);
                assert_int_equal(h.graph.n_blocks, before.graph.n_blocks - want_blocks);
                assert_int_equal(h.graph.n_roots, before.graph.n_roots);
                for (uint32_t a = 0; a < h.graph.n_blocks; a++)
                        for (uint32_t b = 0; b < h.graph.n_blocks; b++)
                                assert_int_equal(n_edges_between(&h, h.blocks[a].address,
                                                                 h.blocks[b].address),
                                                 n_edges_between(&before, h.blocks[a].address,
                                                                 h.blocks[b].address));
                for (uint32_t k = 0; k < h.n_containers; k++)
                        assert_true(h.containers[k].block < h.graph.n_blocks);
                vec_free(&loose);
                vec_free(&kept);
                heap_graph_done(&h);
                heap_graph_done(&before);
        }
}

static void test_common(void **state) {
        struct loose_block a[] = {{16, 8, true},
                                  {32, 8, true},
                                  {48, 8, false},
                                  {64, 8, true},
                                  {80, 8, false}},
                           b[] = {{8, 8, true},  {32, 8, true},  {48, 8, true},
                                  {64, 9, true}, {80, 8, false}, {96, 8, true}};
        loose_list l = {0}, other = {0};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(a); i++)
                vec_push(&l, a[i]);
        for (size_t i = 0; i < ARRAY_SIZE(b); i++)
                vec_push(&other, b[i]);
        loose_keep_common(&l, &other);
        assert_int_equal(l.n, 3);
        assert_int_equal(l.items[0].address, 32);
        assert_int_equal(l.items[1].address, 48);
        assert_int_equal(l.items[2].address, 80);
        /* lost here, and there only loose: not lost for sure */
        other.items[1].is_lost = false;
        loose_keep_common(&l, &other);
        assert_int_equal(l.n, 2);
        vec_free(&l);
        vec_free(&other);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_takes_out),
                cmocka_unit_test(test_common),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
