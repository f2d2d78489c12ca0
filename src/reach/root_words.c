/* SPDX-License-Identifier: MIT */
#include "reach/root_words.h"

#include <errno.h>
#include <stdlib.h>

int root_words_split(struct reach_scanned *scanned, struct heap_graph *ret) {
        const struct reach_graph *from = &scanned->graph;
        uint64_t n_block_edges = from->first[from->n_blocks];
        uint64_t n_words = reach_n_edges(from) - n_block_edges;
        uint64_t word = 0;
        struct heap_graph h = {.unread_bytes = scanned->unread_bytes};

        if (n_words >= REACH_MAX_BLOCKS)
                return -ENOMEM;
        h.blocks = malloc(MAX(from->n_blocks, 1u) * sizeof(*h.blocks));
        h.roots = calloc(MAX(n_words, (uint64_t)1), sizeof(*h.roots));
        h.graph.first = malloc((from->n_blocks + n_words + 1) * sizeof(*h.graph.first));
        if (!h.blocks || !h.roots || !h.graph.first) {
                heap_graph_done(&h);
                return -ENOMEM;
        }
        if (from->n_blocks)
                memcpy(h.blocks, from->blocks, from->n_blocks * sizeof(*h.blocks));
        memcpy(h.graph.first, from->first, (from->n_blocks + (size_t)1) * sizeof(*h.graph.first));
        for (uint32_t i = 0; i < from->n_roots; i++) {
                uint64_t n = from->first[from->n_blocks + i + 1] - from->first[from->n_blocks + i];

                for (; n; n--, word++) {
                        h.roots[word] = (struct reach_root){.begin = scanned->root_words[word],
                                                            .end = scanned->root_words[word] + 8,
                                                            .kind = from->roots[i].kind,
                                                            .owner = from->roots[i].owner};
                        h.graph.first[from->n_blocks + word + 1] = n_block_edges + word + 1;
                }
        }
        h.graph.blocks = h.blocks;
        h.graph.roots = h.roots;
        h.graph.n_blocks = from->n_blocks;
        h.graph.n_roots = (uint32_t)n_words;
        h.graph.edges = scanned->graph.edges;
        scanned->graph.edges = NULL;
        *ret = h;
        return 0;
}
