/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/heap_graph.h"
#include "reach/testing/draw.h"
#include "reach/testing/drawn_heap.h"

static void check_equal(const struct heap_graph *a, const struct heap_graph *b) {
        uint32_t n = reach_n_nodes(&a->graph);

        assert_int_equal(a->graph.n_blocks, b->graph.n_blocks);
        assert_int_equal(a->graph.n_roots, b->graph.n_roots);
        assert_int_equal(a->n_owners, b->n_owners);
        assert_int_equal(a->pause_ns, b->pause_ns);
        assert_int_equal(a->n_unsettled, b->n_unsettled);
        assert_int_equal(!a->seqs, !b->seqs);
        for (uint32_t i = 0; i < a->graph.n_blocks; i++) {
                assert_memory_equal(&a->blocks[i], &b->blocks[i], sizeof(a->blocks[i]));
                if (a->seqs)
                        assert_int_equal(a->seqs[i], b->seqs[i]);
        }
        assert_int_equal(a->n_types, b->n_types);
        for (uint32_t i = 0; i < a->n_types; i++) {
                assert_string_equal(a->types[i].name, b->types[i].name);
                assert_int_equal(a->types[i].table, b->types[i].table);
                assert_int_equal(a->types[i].function, b->types[i].function);
                assert_int_equal(a->types[i].kind, b->types[i].kind);
        }
        if (a->n_types)
                assert_memory_equal(a->type_of, b->type_of,
                                    a->graph.n_blocks * sizeof(a->type_of[0]));
        assert_int_equal(a->n_containers, b->n_containers);
        for (uint32_t i = 0; i < a->n_containers; i++) {
                assert_int_equal(a->containers[i].block, b->containers[i].block);
                assert_int_equal(a->containers[i].kind, b->containers[i].kind);
                assert_int_equal(a->containers[i].used, b->containers[i].used);
                assert_int_equal(a->containers[i].room, b->containers[i].room);
        }
        assert_int_equal(a->n_heads, b->n_heads);
        assert_int_equal(a->n_unkept_heads, b->n_unkept_heads);
        for (uint32_t i = 0; i < a->n_heads; i++) {
                assert_int_equal(a->heads[i].block, b->heads[i].block);
                assert_memory_equal(a->heads[i].words, b->heads[i].words,
                                    sizeof(a->heads[i].words));
        }
        assert_int_equal(a->still_ns, b->still_ns);
        assert_int_equal(a->n_still, b->n_still);
        if (a->n_still)
                assert_memory_equal(a->still, b->still, a->n_still * sizeof(a->still[0]));
        for (uint32_t i = 0; i < a->n_owners; i++) {
                assert_string_equal(a->owners[i].name, b->owners[i].name);
                assert_int_equal(a->owners[i].base, b->owners[i].base);
                assert_int_equal(a->owners[i].tid, b->owners[i].tid);
        }
        for (uint32_t i = 0; i < a->graph.n_roots; i++) {
                assert_int_equal(a->roots[i].begin, b->roots[i].begin);
                assert_int_equal(a->roots[i].kind, b->roots[i].kind);
                assert_int_equal(a->roots[i].owner, b->roots[i].owner);
        }
        assert_int_equal(a->n_places, b->n_places);
        for (uint32_t i = 0; i < a->n_places; i++) {
                assert_int_equal(a->places[i].address, b->places[i].address);
                assert_int_equal(a->places[i].location, b->places[i].location);
                assert_int_equal(a->places[i].kind, b->places[i].kind);
        }
        assert_memory_equal(a->graph.first, b->graph.first, (n + 1) * sizeof(uint64_t));
        assert_memory_equal(a->graph.edges, b->graph.edges,
                            reach_n_edges(&a->graph) * sizeof(reach_edge));
}

static void test_there_and_back(void **state) {
        (void)state;
        for (uint64_t seed = 0; seed < 2000; seed++) {
                struct draw d = draw_from(seed_of_run() * 10000 + seed);
                struct heap_graph h, back;
                bytes_buf bytes = {0};
                struct err err = {0};

                drawn_heap_make(&d, &h);
                heap_graph_encode(&h, &bytes);
                heap_graph_encode_places(h.places, h.n_places, &bytes);
                assert_int_equal(heap_graph_decode(bytes.items, bytes.n, &back, &err), 0);
                check_equal(&h, &back);
                heap_graph_done(&back);
                /* cut anywhere, or with a byte changed, it is refused or is some graph: never more than its bytes can hold */
                assert_true(heap_graph_decode(bytes.items, draw_below(&d, bytes.n), &back, &err) <
                            0);
                for (int i = 0; i < 20; i++) {
                        bytes.items[draw_below(&d, bytes.n)] = (uint8_t)draw_below(&d, 256);
                        if (heap_graph_decode(bytes.items, bytes.n, &back, &err) == 0)
                                heap_graph_done(&back);
                }
                vec_free(&bytes);
                heap_graph_done(&h);
        }
}

/* Only pointers into the middle of a block that is a hash table of Rust's. */
static void test_tables_are_held(void **state) {
        reach_edge edges[] = {reach_edge_make(0, EDGE_INTERIOR), reach_edge_make(1, EDGE_INTERIOR),
                              reach_edge_make(1, EDGE_START), reach_edge_make(2, EDGE_INTERIOR)};
        uint64_t first[] = {0, 0, 0, 0, 4};
        struct heap_container containers[] = {{.block = 1, .kind = CONTAINER_OPEN_TABLE},
                                              {.block = 2, .kind = CONTAINER_VECTOR}};
        struct heap_graph h = {
                .graph = {.n_blocks = 3, .n_roots = 1, .first = first, .edges = edges},
                .containers = containers,
                .n_containers = 2};

        (void)state;
        heap_graph_follow_tables(&h);
        assert_int_equal(reach_edge_kind(edges[0]), EDGE_INTERIOR);
        assert_int_equal(reach_edge_kind(edges[1]), EDGE_HASH_TABLE);
        assert_int_equal(reach_edge_block(edges[1]), 1);
        assert_int_equal(reach_edge_kind(edges[2]), EDGE_START);
        assert_int_equal(reach_edge_kind(edges[3]), EDGE_INTERIOR);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back),
                                           cmocka_unit_test(test_tables_are_held)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
