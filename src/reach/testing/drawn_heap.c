/* SPDX-License-Identifier: MIT */
#include "reach/testing/drawn_heap.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 60, MAX_EDGES = 300 };

static void draw_types(struct draw *d, struct heap_graph *h) {
        h->n_types = (uint32_t)draw_below(d, 5);
        if (!h->n_types)
                return;
        h->types = calloc(h->n_types, sizeof(*h->types));
        h->type_of = calloc(MAX_NODES, sizeof(*h->type_of));
        for (uint32_t i = 0; i < h->n_types; i++)
                h->types[i] = (struct heap_type){.name = strdup(i % 2 ? "7Session" : ""),
                                                 .table = draw_below(d, UINT64_MAX),
                                                 .function = draw_below(d, UINT64_MAX),
                                                 .kind = draw_below(d, N_TYPE_KINDS)};
        for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                h->type_of[i] = (uint32_t)draw_below(d, h->n_types + 1);
}

static void draw_containers(struct draw *d, struct heap_graph *h) {
        h->containers = calloc(MAX_NODES, sizeof(*h->containers));
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                enum heap_container_kind kind = draw_below(d, N_CONTAINER_KINDS);
                uint64_t room = 1 + draw_below(d, (uint64_t)1 << (1 + draw_below(d, 40)));
                uint64_t most = kind == CONTAINER_CHAINED_TABLE ? 3 * room : room;

                if (draw_below(d, 3) == 0)
                        h->containers[h->n_containers++] =
                                (struct heap_container){i, kind, draw_below(d, most + 1), room};
        }
}

static void draw_heads(struct draw *d, struct heap_graph *h) {
        h->heads = calloc(MAX_NODES, sizeof(*h->heads));
        for (uint32_t i = 0; draw_below(d, 2) && i < h->graph.n_blocks; i++) {
                struct heap_head *head = &h->heads[h->n_heads++];

                head->block = i;
                for (unsigned k = 0; k < HEAP_HEAD_WORDS; k++)
                        head->words[k] = draw_below(d, 2) ? draw_below(d, UINT64_MAX) : k;
                i += (uint32_t)draw_below(d, 3);
        }
        h->n_unkept_heads = h->n_heads ? (uint32_t)draw_below(d, 3) : 0;
        h->still = calloc(MAX_NODES, sizeof(*h->still));
        h->still_ns = h->n_heads ? draw_below(d, 3) : 0;
        for (uint32_t i = 0; h->still_ns && i < h->graph.n_blocks; i++)
                if (draw_below(d, 2))
                        h->still[h->n_still++] = i;
}

void drawn_heap_make(struct draw *d, struct heap_graph *h) {
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
        draw_types(d, h);
        draw_containers(d, h);
        draw_heads(d, h);
}
