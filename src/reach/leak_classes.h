/* SPDX-License-Identifier: MIT */
/* Memcheck's classes of blocks (docs/leaks.md). */
#pragma once

#include "reach/reach_graph.h"

enum leak_class {
        LEAK_REACHABLE, /* a chain of pointers to first bytes leads to it from a root */
        LEAK_POSSIBLE,  /* a chain leads to it, somewhere by a pointer into the middle of a block */
        LEAK_INDIRECT,  /* none does, but a lost block points to it */
        LEAK_DEFINITE, /* nothing points to it; or, in a circle of lost blocks, the one at the lowest address */
        N_LEAK_CLASSES,
};

struct leak_classes {
        uint8_t *of_block; /* enum leak_class */
        uint64_t
                *indirect_bytes; /* of a definitely lost block: what is lost with it. Otherwise 0 */
        uint32_t *indirect_blocks;
        uint64_t blocks[N_LEAK_CLASSES], bytes[N_LEAK_CLASSES];
        /* of the reachable ones, those to whose first byte nothing reachable points: by the rule that counts them in */
        uint64_t by_rule_blocks[N_REACH_EDGE_KINDS], by_rule_bytes[N_REACH_EDGE_KINDS];
};

/* 0 or -ENOMEM. */
int leak_classes_find(const struct reach_graph *g, struct leak_classes *ret);
void leak_classes_done(struct leak_classes *c);
