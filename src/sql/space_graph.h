/* SPDX-License-Identifier: MIT */
/* A graph of the trace as tables read it: opened once, and kept while statements may ask again. What only some columns need is made when it is
 * first asked for. Inside sql/ only. */
#pragma once

#include "keep/held_graph.h"
#include "keep/kept_graph.h"
#include "sql/space.h"

struct space_graph {
        uint32_t n_users; /* cursors, and the space */
        size_t graph_idx;
        uint64_t last_used;
        struct site_texts texts;
        struct held_graph held;  /* as silt holders has it: roots that only borrow have no edges */
        struct kept_graph all;   /* with all edges, and classes */
        uint32_t *place_of_root; /* of each root of `all`: its number in held.places.list */
        bool *is_borrower;       /* of each root of `all` */
        uint64_t *first_to, *by_to; /* edges by the block they lead to: numbers; NULL: not yet */
        uint64_t *born_ns;          /* of each block; UINT64_MAX unknown. NULL: not yet */
        uint64_t *retained_blocks;  /* of each group of held.holders; NULL: not yet */
        const struct root_place **place_of_group; /* NULL of a group of blocks; NULL: not yet */
};

struct sqlite3_value;
/* The graph that an argument means: a number as in `graphs`; NULL, or left out: the newest. To be given back. */
int space_graph_get(struct sql_space *s, struct sqlite3_value *number, struct space_graph **ret,
                    struct err *reterr);
struct space_graph *space_graph_unref(struct space_graph *g); /* NULL ok; returns NULL */
void space_graphs_done(struct sql_space *s);

/* Appends what limits answers from the graphs that were read, as sentences. */
void space_graph_add_doubts(const struct sql_space *s, struct str *to);

/* About, before it is read. */
double space_graph_n_blocks(struct sql_space *s);

/* Each makes something of it. 0 or -ENOMEM. */
int space_graph_index_to(struct space_graph *g, struct err *reterr);
int space_graph_find_births(struct space_graph *g, struct sql_space *s, struct err *reterr);
int space_graph_find_retained_blocks(struct space_graph *g, struct err *reterr);
int space_graph_find_places(struct space_graph *g, struct err *reterr);
