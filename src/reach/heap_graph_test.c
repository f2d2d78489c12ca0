/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"
#include "reach/heap_graph.h"
#include "reach/testing/draw.h"

enum { MAX_NODES = 60, MAX_EDGES = 300 };

static void draw_graph(struct draw *d, struct heap_graph *h) {
        uint64_t at = 4096, n_edges = 0;

        *h = (struct heap_graph){.n_owners = 1 + (uint32_t)draw_below(d, 4),
                                 .pause_ns = draw_below(d, 1 << 30),
                                 .n_unsettled = (uint32_t)draw_below(d, 5)};
        h->graph.n_blocks = (uint32_t)draw_below(d, MAX_NODES);
        h->graph.n_roots = h->graph.n_blocks ? (uint32_t)draw_below(d, MAX_NODES) : 0;
        h->graph.blocks = h->blocks = calloc(MAX_NODES, sizeof(*h->blocks));
        h->graph.roots = h->roots = calloc(MAX_NODES, sizeof(*h->roots));
        h->owners = calloc(h->n_owners, sizeof(*h->owners));
        h->seqs = draw_below(d, 2) ? calloc(MAX_NODES, sizeof(*h->seqs)) : NULL;
        h->graph.first = calloc(2 * MAX_NODES + 1, sizeof(*h->graph.first));
        h->graph.edges = calloc(MAX_EDGES, sizeof(*h->graph.edges));
        for (uint32_t i = 0; i < h->n_owners; i++)
                h->owners[i] = (struct heap_owner){.name = strdup(i % 2 ? "libc.so.6" : ""),
                                                   .base = draw_below(d, UINT64_MAX),
                                                   .tid = i};
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                at += draw_below(d, 1 << 20);
                h->blocks[i] =
                        (struct reach_block){.address = at,
                                             .size_bytes =
                                                     draw_below(d, 1 << (1 + draw_below(d, 30))),
                                             .site = draw_below(d, 9) ? (uint32_t)draw_below(d, 99)
                                                                      : REACH_NO_SITE};
                at += h->blocks[i].size_bytes;
                if (h->seqs)
                        h->seqs[i] = draw_below(d, (uint64_t)1 << 47);
        }
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                uint64_t begin = draw_below(d, (uint64_t)1 << 47);

                h->roots[i] = (struct reach_root){begin, begin + 8, draw_below(d, 4),
                                                  (uint32_t)draw_below(d, h->n_owners), NULL};
        }
        h->n_places = (uint32_t)draw_below(d, MAX_NODES);
        h->places = calloc(MAX_NODES, sizeof(*h->places));
        at = 0;
        for (uint32_t i = 0; i < h->n_places; i++) {
                at += draw_below(d, 3) * draw_below(d, (uint64_t)1 << 40);
                h->places[i] =
                        (struct heap_place){.address = at,
                                            .location =
                                                    draw_below(d, 4)
                                                            ? (uint32_t)draw_below(d, UINT32_MAX)
                                                            : HEAP_NO_LOCATION,
                                            .kind = draw_below(d, N_PLACE_KINDS)};
        }
        for (uint32_t i = 0; i < reach_n_nodes(&h->graph); i++) {
                for (uint64_t k = draw_below(d, 4); k && h->graph.n_blocks && n_edges < MAX_EDGES;
                     k--)
                        h->graph.edges[n_edges++] =
                                reach_edge_make((uint32_t)draw_below(d, h->graph.n_blocks),
                                                draw_below(d, N_REACH_EDGE_KINDS));
                h->graph.first[i + 1] = n_edges;
        }
}

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

                draw_graph(&d, &h);
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

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
