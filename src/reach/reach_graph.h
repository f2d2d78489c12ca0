/* SPDX-License-Identifier: MIT */
/* Blocks, roots and what points where, at one moment of one process (docs/holders.md). Nodes are numbered: blocks first, by address,
 * then roots. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct reach_block {
        uint64_t address;
        uint64_t size_bytes;
        uint32_t site;     /* where it was allocated; REACH_NO_SITE: nobody knows */
        uint32_t birth_ms; /* since the recording's start */
};

#define REACH_NO_SITE UINT32_MAX

enum reach_root_kind {
        ROOT_DATA,      /* variables of a module */
        ROOT_STACK,     /* from the stack pointer on */
        ROOT_REGISTERS, /* `begin` is not an address: words are given */
        ROOT_MAPPING,   /* any other memory that can be written */
};

struct reach_root {
        uint64_t begin, end; /* multiples of 8 */
        enum reach_root_kind kind;
        uint32_t owner;        /* a module's, thread's or mapping's number, the maker's to know */
        const uint64_t *words; /* ROOT_REGISTERS: end - begin bytes; otherwise NULL */
};

enum reach_edge_kind {
        EDGE_START,    /* points to a block's first byte */
        EDGE_INTERIOR, /* into it */
        /* into it, and as good as its first byte by a rule of memcheck's */
        EDGE_STDSTRING,
        EDGE_LENGTH64,
        EDGE_NEWARRAY,
        EDGE_MULTIPLE_INHERITANCE,
        /* into a hash table that was recognised (heap_graph_follow_tables): how such tables are held. Files do not have it */
        EDGE_HASH_TABLE,
        N_REACH_EDGE_KINDS,
};

/* Which block, and how. */
typedef uint32_t reach_edge;
#define REACH_EDGE_KIND_SHIFT 29
#define REACH_MAX_BLOCKS (((uint32_t)1 << REACH_EDGE_KIND_SHIFT) - 1)

static inline reach_edge reach_edge_make(uint32_t block, enum reach_edge_kind kind) {
        return block | (uint32_t)kind << REACH_EDGE_KIND_SHIFT;
}

static inline uint32_t reach_edge_block(reach_edge e) {
        return e & REACH_MAX_BLOCKS;
}

static inline enum reach_edge_kind reach_edge_kind(reach_edge e) {
        return (enum reach_edge_kind)(e >> REACH_EDGE_KIND_SHIFT);
}

struct reach_graph {
        const struct reach_block *blocks; /* by address, none overlapping another */
        const struct reach_root *roots;
        uint32_t n_blocks, n_roots;
        /* n_blocks + n_roots + 1 of them: the edges of node i are [first[i], first[i + 1]), in the order of the words that hold
         * them, a target as often as it is pointed to */
        uint64_t *first;
        reach_edge *edges;
};

static inline uint32_t reach_n_nodes(const struct reach_graph *g) {
        return g->n_blocks + g->n_roots;
}

static inline uint64_t reach_n_edges(const struct reach_graph *g) {
        return g->first[reach_n_nodes(g)];
}

void reach_graph_done(struct reach_graph *g); /* first and edges */
