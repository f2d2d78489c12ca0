/* SPDX-License-Identifier: MIT */
/* Graphs drawn at random, of the shapes that programs have and of those that break algorithms. */
#pragma once

#include "reach/reach_graph.h"
#include "reach/testing/draw.h"

enum graph_shape {
        SHAPE_ANY,    /* edges from anywhere to anywhere: cycles, self loops, the same edge twice */
        SHAPE_SPARSE, /* so few that much is out of reach */
        SHAPE_DENSE,
        SHAPE_TREE,
        SHAPE_DAG,
        SHAPE_LIST,   /* one behind the other, some linked back as well */
        SHAPE_STAR,   /* one holds all */
        SHAPE_LADDER, /* each links to the next two: nothing dominates for long */
        SHAPE_TABLES, /* roots hold tables, tables hold lists, few sites */
        N_GRAPH_SHAPES,
};

struct random_edge {
        uint32_t from; /* a node */
        reach_edge to;
};

struct random_graph {
        struct reach_graph graph;
        struct reach_block *blocks; /* the graph's, to be changed */
        struct reach_root *roots;
};

/* Sizes, sites and births are drawn as well: sites of a shape are few. */
void random_graph_init(struct random_graph *r, struct draw *d, enum graph_shape shape,
                       uint32_t n_blocks, uint32_t n_roots);
/* The same with the edges that are given, in any order. Blocks are of 16 bytes, site 0. */
void random_graph_init_edges(struct random_graph *r, uint32_t n_blocks, uint32_t n_roots,
                             const struct random_edge *edges, size_t n_edges);
void random_graph_done(struct random_graph *r);
