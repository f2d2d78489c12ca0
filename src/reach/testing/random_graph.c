/* SPDX-License-Identifier: MIT */
#include "reach/testing/random_graph.h"

#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

typedef VEC(struct random_edge) edge_list;

static void link_nodes(edge_list *edges, struct draw *d, uint32_t from, uint32_t to) {
        enum reach_edge_kind kind = (enum reach_edge_kind)draw_below(d, N_REACH_EDGE_KINDS);

        vec_push(edges, (struct random_edge){from, reach_edge_make(to, kind)});
}

static void draw_any(edge_list *edges, struct draw *d, uint32_t n_blocks, uint32_t n_roots,
                     uint64_t n_edges) {
        for (uint64_t i = 0; n_blocks && i < n_edges; i++)
                link_nodes(edges, d, (uint32_t)draw_below(d, (uint64_t)n_blocks + n_roots),
                           (uint32_t)draw_below(d, n_blocks));
}

/* Some block that comes before i, or a root. */
static uint32_t one_before(struct draw *d, uint32_t i, uint32_t n_blocks, uint32_t n_roots) {
        if (n_roots && (i == 0 || draw_below(d, 8) == 0))
                return n_blocks + (uint32_t)draw_below(d, n_roots);
        return i ? (uint32_t)draw_below(d, i) : 0;
}

static void draw_dag(edge_list *edges, struct draw *d, uint32_t n_blocks, uint32_t n_roots,
                     uint32_t max_ways) {
        for (uint32_t i = 0; i < n_blocks; i++) {
                uint64_t n_ways = 1 + draw_below(d, max_ways);

                for (uint64_t way = 0; way < n_ways; way++)
                        link_nodes(edges, d, one_before(d, i, n_blocks, n_roots), i);
        }
}

/* Steps of 1 to max_step ahead from each node, and here and there one back. */
static void draw_list(edge_list *edges, struct draw *d, uint32_t n_blocks, uint32_t n_roots,
                      uint32_t max_step) {
        bool back = draw_below(d, 2);

        if (n_roots && n_blocks)
                link_nodes(edges, d, n_blocks + (uint32_t)draw_below(d, n_roots), 0);
        for (uint32_t i = 0; i < n_blocks; i++) {
                for (uint32_t step = 1; step <= max_step && step < n_blocks - i; step++)
                        link_nodes(edges, d, i, i + step);
                if (back && i)
                        link_nodes(edges, d, i, i - 1);
        }
}

static void draw_star(edge_list *edges, struct draw *d, uint32_t n_blocks, uint32_t n_roots) {
        uint32_t middle = n_blocks ? (uint32_t)draw_below(d, n_blocks) : 0;

        if (n_roots && n_blocks)
                link_nodes(edges, d, n_blocks, middle);
        for (uint32_t i = 0; i < n_blocks; i++)
                link_nodes(edges, d, middle, i);
        draw_any(edges, d, n_blocks, n_roots, draw_below(d, 4));
}

/* Roots hold tables (site 0), which hold chains of nodes (site 1), which hold what is in them (2 and 3), some of it in two. */
static void draw_tables(struct random_graph *r, edge_list *edges, struct draw *d) {
        uint32_t n_blocks = r->graph.n_blocks, n_roots = r->graph.n_roots, table = 0, node = 0;

        for (uint32_t i = 0; i < n_blocks; i++) {
                uint64_t what = i == 0 ? 0 : draw_below(d, 16);

                if (what == 0) {
                        table = node = i;
                        r->blocks[i].site = 0;
                        if (n_roots)
                                link_nodes(edges, d, n_blocks + (uint32_t)draw_below(d, n_roots),
                                           i);
                        continue;
                }
                r->blocks[i].site = what < 9 ? 1 : 2 + (uint32_t)draw_below(d, 2);
                if (what == 1) /* the first of another chain */
                        link_nodes(edges, d, table, i);
                else
                        link_nodes(edges, d, node, i);
                if (what < 9)
                        node = i;
                else if (what == 15)
                        link_nodes(edges, d, (uint32_t)draw_below(d, i), i);
        }
}

static void prepare(struct random_graph *r, uint32_t n_blocks, uint32_t n_roots) {
        memset(r, 0, sizeof(*r));
        r->graph.n_blocks = n_blocks;
        r->graph.n_roots = n_roots;
        r->blocks = calloc(n_blocks + 1, sizeof(r->blocks[0]));
        r->roots = calloc(n_roots + 1, sizeof(r->roots[0]));
        r->graph.blocks = r->blocks;
        r->graph.roots = r->roots;
        for (uint32_t i = 0; i < n_blocks; i++)
                r->blocks[i] = (struct reach_block){.address = 0x10000 + (uint64_t)i * 0x1000,
                                                    .size_bytes = 16};
        for (uint32_t i = 0; i < n_roots; i++)
                r->roots[i] = (struct reach_root){.begin = 0x100 * (uint64_t)i,
                                                  .end = 0x100 * (uint64_t)i + 0x80,
                                                  .kind = ROOT_DATA,
                                                  .owner = i};
}

/* Counting sort by node; edges of one node stay in their order. */
static void put_edges(struct reach_graph *g, const struct random_edge *edges, size_t n_edges) {
        uint32_t n = reach_n_nodes(g);

        g->first = calloc((size_t)n + 2, sizeof(g->first[0]));
        g->edges = malloc((n_edges + 1) * sizeof(g->edges[0]));
        for (size_t i = 0; i < n_edges; i++)
                g->first[edges[i].from + 2]++;
        for (uint32_t i = 0; i < n; i++)
                g->first[i + 2] += g->first[i + 1];
        for (size_t i = 0; i < n_edges; i++)
                g->edges[g->first[edges[i].from + 1]++] = edges[i].to;
}

void random_graph_init_edges(struct random_graph *r, uint32_t n_blocks, uint32_t n_roots,
                             const struct random_edge *edges, size_t n_edges) {
        prepare(r, n_blocks, n_roots);
        put_edges(&r->graph, edges, n_edges);
}

void random_graph_init(struct random_graph *r, struct draw *d, enum graph_shape shape,
                       uint32_t n_blocks, uint32_t n_roots) {
        edge_list edges = {0};
        uint64_t n_sites = 1 + draw_below(d, 6);

        prepare(r, n_blocks, n_roots);
        for (uint32_t i = 0; i < n_blocks; i++) {
                r->blocks[i].size_bytes = draw_below(d, 4096);
                r->blocks[i].birth_ms = (uint32_t)draw_below(d, 100000);
                r->blocks[i].site =
                        draw_below(d, 50) ? (uint32_t)draw_below(d, n_sites) : REACH_NO_SITE;
        }
        switch (shape) {
        case SHAPE_ANY:
                draw_any(&edges, d, n_blocks, n_roots, 2 * ((uint64_t)n_blocks + n_roots));
                break;
        case SHAPE_SPARSE: draw_any(&edges, d, n_blocks, n_roots, n_blocks); break;
        case SHAPE_DENSE:
                draw_any(&edges, d, n_blocks, n_roots, 8 * ((uint64_t)n_blocks + n_roots));
                break;
        case SHAPE_TREE: draw_dag(&edges, d, n_blocks, n_roots, 1); break;
        case SHAPE_DAG: draw_dag(&edges, d, n_blocks, n_roots, 3); break;
        case SHAPE_LIST: draw_list(&edges, d, n_blocks, n_roots, 1); break;
        case SHAPE_STAR: draw_star(&edges, d, n_blocks, n_roots); break;
        case SHAPE_LADDER: draw_list(&edges, d, n_blocks, n_roots, 2); break;
        case SHAPE_TABLES: draw_tables(r, &edges, d); break;
        case N_GRAPH_SHAPES: break;
        }
        put_edges(&r->graph, edges.items, edges.n);
        vec_free(&edges);
}

void random_graph_done(struct random_graph *r) {
        reach_graph_done(&r->graph);
        free(r->blocks);
        free(r->roots);
}
