/* SPDX-License-Identifier: MIT */
/* A graph of a trace as holders want it: roots with names, sites as people tell them apart, ages, the tree of who keeps what. */
#pragma once

#include "keep/group_containers.h"
#include "keep/nearest_places.h"
#include "keep/root_places.h"
#include "reach/holder_tree.h"

struct held_graph {
        struct trace_graph info; /* of which process, and when */
        struct heap_graph heap;  /* sites are numbers of the texts */
        uint32_t *
                stacks; /* of each block: its stack in the trace, as the site was; REACH_NO_SITE: unknown */
        struct root_places places;
        uint32_t *type_texts;  /* of each type: its name's number in the texts */
        struct site_keys keys; /* for trees of the same graph */
        struct holder_tree holders;
        struct container_sum *containers; /* of the groups (group_containers.h) */
        /* of each group below a place: the root from which alone it is held; REACH_NONE: there are several, or it is deeper */
        uint32_t *root_of_group;
        /* of each group that several places hold together: the nearest of them, as nearest_places.h says; else none */
        struct nearest_places *nearest_of_group;
        uint64_t *
                oldest_ns; /* of each group: when its first block was allocated; UINT64_MAX: unknown, or it is small */
        /* The one block from which most of the largest group at the top hangs, while no single one below it has most of that again: the
         * array of a table. REACH_NONE: there is none, as in a list, which is long */
        uint32_t hub;
        uint64_t hub_children; /* blocks that it holds at once */
        uint64_t all_bytes;    /* of all blocks, held or not */
        uint64_t unheld_bytes; /* nothing leads to them */
        uint64_t unheld_blocks;
        uint64_t shared_bytes; /* held from several places, by none of them alone */
        uint64_t shared_blocks;
};

/* The trace's graph number graph_idx. */
int held_graph_open(struct held_graph *g, struct query *q, const struct frame_names *names,
                    size_t graph_idx, struct site_texts *texts, struct err *reterr);
void held_graph_done(struct held_graph *g);

/* The newest of the process at or before number `before` − 1; QUERY_ALL: of any. SIZE_MAX: there is none. */
size_t held_graph_newest(struct query *q, uint32_t process, size_t before);

/* The function that begins at an address of a type's table, or at the first word of a head: the one really called. False: it has no name. */
bool held_graph_function(const struct held_graph *g, const struct query *q, uint64_t address,
                         struct query_frame *ret);
/* The same, whether it has a name or not. False: nobody knows which file it is in. */
bool held_graph_place(const struct held_graph *g, const struct query *q, uint64_t address,
                      struct query_frame *ret);

/* How old the oldest block of a group is; 0: unknown. */
uint64_t held_graph_age_ns(const struct held_graph *g, uint32_t group);
