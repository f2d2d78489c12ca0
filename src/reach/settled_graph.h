/* SPDX-License-Identifier: MIT */
/* Blocks that nobody counts when they are allocated, at moments that come by chance: a thread may be inside malloc or free, or hold a block where nobody
 * looks. What is lost is lost at every later moment, too; what was only on its way is not. */
#pragma once

#include "base/vec.h"
#include "reach/heap_graph.h"

/* A block that no chain of pointers to first bytes leads to. */
struct loose_block {
        uint64_t address, size_bytes;
        bool is_lost; /* nor any other chain */
};

typedef VEC(struct loose_block) loose_list;

/* By address. 0 or -ENOMEM. */
int loose_find(const struct heap_graph *h, loose_list *ret);

bool loose_any_lost(const loose_list *l);

/* Keeps what is loose in the other as well, and lost if it is lost there. */
void loose_keep_common(loose_list *l, const loose_list *other);

/* Takes the blocks out that are loose in the graph and are not in the list, and what points to them. How many, and their bytes. -ENOMEM: it is as it was. */
int settle_graph(struct heap_graph *h, const loose_list *loose, uint64_t *ret_blocks,
                 uint64_t *ret_bytes);
