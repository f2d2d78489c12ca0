/* SPDX-License-Identifier: MIT */
/* Roots that only borrow. A thread that works on what a variable holds has pointers to it on its stack for a moment, the queues of a runtime
 * still have those of tasks that left them, and an allocator's own tables know every large block: none of them is who keeps it. Roots count in
 * this order, each only for what those before it do not reach: variables; owners; thread-local data; threads; other mappings and allocators.
 *
 * An owner is a thread, or thread-local data, for a block that nothing but this place points to, other than what the block holds: the head of a
 * structure. What a head leads to by pointers to its many elements and between them is the owner's; pointers from these to single blocks lead
 * back up, or to what all share. */
#pragma once

#include <stdbool.h>

#include "keep/root_places.h"

struct borrowers {
        bool *counts;    /* of each root */
        uint8_t *level;  /* of each block: where in that order it is reached */
        uint32_t *place; /* of each block: which place reached it; REACH_NONE: none did */
        struct map
                also; /* an owner's place, another place → pointers of that one into what is the owner's */
};

/* of_root: its place. 0 or -ENOMEM; done in any case. */
int borrowers_find(const struct reach_graph *g, const struct root_place *places,
                   const uint32_t *of_root, struct borrowers *ret);
void borrowers_done(struct borrowers *b);

/* Takes pointers to what is an owner's out of blocks that are only reached by others, and counts them. */
void borrowers_drop_edges(struct borrowers *b, const uint32_t *of_root, struct reach_graph *g);

static inline uint64_t borrowers_pair(uint32_t owner, uint32_t other) {
        return (uint64_t)owner << 32 | other;
}
