/* SPDX-License-Identifier: MIT */
/* Blocks of containers, by their shape: the words beside a pointer to a block say what it is and how full it is, and the block must agree.
 * While memory is scanned such words are noted; when all are known, each block is looked at. What two holders tell differently, and what does
 * not fit to the byte, is not told. Inside reach/ only. */
#pragma once

#include "base/vec.h"
#include "reach/heap_graph.h"
#include "reach/memory_scan.h"

enum { CONTAINER_LOOK_WORDS = 6 }; /* of a holder, from the pointer on */

/* A word that points to a block, and what stands beside it. */
struct container_holder {
        uint64_t address;      /* of the word */
        uint64_t before;       /* the word before it; 0: none */
        const uint64_t *words; /* from it on */
        size_t n_words;
        bool is_firm;         /* in a block or a variable: a stack has remains of what was */
        bool has_exact_sizes; /* blocks are as large as was asked for, not as the allocator made them */
};

/* Notes it if it may be a container's. b: the block that words[0] points to or into. */
void container_hint_take(const struct reach_memory *m, const struct container_holder *w,
                         const struct reach_block *b, uint32_t block, container_hint_list *to);

/* Fills containers and n_containers of a graph of these blocks. has_cxx: there may be some of libstdc++'s. hints are sorted and become
 * empty. 0 or -ENOMEM. */
int containers_find(const struct reach_memory *m, const struct reach_block *blocks,
                    uint32_t n_blocks, bool has_cxx, container_hint_list *hints,
                    struct heap_graph *ret);
