/* SPDX-License-Identifier: MIT */
/* Any bytes as a graph of a trace: refused in one line, or a graph whose numbers all exist. Written again and read again it is the same, and
 * its classes and dominators can be found.
 *
 * seeds: src/reach/heap_graph_seeds
 * covers: src/reach/heap_graph.c src/reach/leak_classes.c src/reach/dominators.c */
#include <stdlib.h>
#include <string.h>

#include "reach/dominators.h"
#include "reach/heap_graph.h"
#include "reach/leak_classes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static void check_numbers(const struct heap_graph *h) {
        const struct reach_graph *g = &h->graph;
        uint32_t n_nodes = reach_n_nodes(g);

        for (uint32_t i = 0; i < g->n_roots; i++)
                expect(h->roots[i].owner < h->n_owners);
        for (uint32_t i = 0; i < h->n_owners; i++)
                expect(h->owners[i].name != NULL);
        for (uint32_t i = 0; i < h->n_containers; i++) {
                expect(h->containers[i].block < g->n_blocks && h->containers[i].room > 0);
                expect(i == 0 || h->containers[i - 1].block < h->containers[i].block);
        }
        for (uint32_t i = 0; i < h->n_heads; i++) {
                expect(h->heads[i].block < g->n_blocks);
                expect(i == 0 || h->heads[i - 1].block < h->heads[i].block);
        }
        for (uint32_t i = 0; i < h->n_still; i++) {
                expect(h->still[i] < g->n_blocks);
                expect(i == 0 || h->still[i - 1] < h->still[i]);
        }
        for (uint32_t i = 0; i < n_nodes; i++) {
                expect(g->first[i] <= g->first[i + 1]);
                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++)
                        expect(reach_edge_block(g->edges[e]) < g->n_blocks);
        }
}

static void check_again(const struct heap_graph *h) {
        bytes_buf once = {0}, twice = {0};
        struct heap_graph again;
        struct err err = {0};

        heap_graph_encode(h, &once);
        heap_graph_encode_places(h->places, h->n_places, &once);
        expect(heap_graph_decode(once.items, once.n, &again, &err) == 0);
        heap_graph_encode(&again, &twice);
        heap_graph_encode_places(again.places, again.n_places, &twice);
        expect(once.n == twice.n && memcmp(once.items, twice.items, once.n) == 0);
        heap_graph_done(&again);
        vec_free(&once);
        vec_free(&twice);
}

static void check_classes(const struct heap_graph *h) {
        struct leak_classes c;
        uint64_t n = 0;

        expect(leak_classes_find(&h->graph, &c) == 0);
        for (unsigned i = 0; i < N_LEAK_CLASSES; i++)
                n += c.blocks[i];
        expect(n == h->graph.n_blocks);
        leak_classes_done(&c);
}

static void check_dominators(const struct heap_graph *h) {
        struct reach_dominators d;

        expect(reach_dominators_find(&h->graph, NULL, &d) == 0);
        for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                expect(d.parent[i] == REACH_NONE || d.retained_bytes[i] >= h->blocks[i].size_bytes);
        reach_dominators_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct heap_graph h;
        struct err err = {0};

        if (heap_graph_decode(data, n, &h, &err) < 0) {
                expect(err.text[0] && !strchr(err.text, '\n'));
                return 0;
        }
        check_numbers(&h);
        check_again(&h);
        check_classes(&h);
        check_dominators(&h);
        heap_graph_done(&h);
        return 0;
}
