/* SPDX-License-Identifier: MIT */
/* Leaks of a process that was not recorded: classes of the blocks its allocator has, by their sizes, without call paths. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "keep/kept_leaks.h"

struct leaks_unrecorded {
        const char *name; /* of the process */
        int pid;
        uint64_t n_unknown_blocks;            /* that its allocator counts and silt did not find */
        uint64_t unwalked_bytes;              /* of its heaps */
        uint64_t anon_bytes, explained_bytes; /* unrecorded_graph.h */
        const char *unexplained; /* that most of its memory is not; NULL: it is not so */
        bool is_go;              /* most of its memory is in Go's heap, which silt does not see */
        unsigned n_looks;
        uint64_t n_moving_blocks, moving_bytes; /* left out: unrecorded_graph.h */
        bool shows_reachable;
        bool json;
};

/* Takes the graph, which is not to be used again. */
int leaks_unrecorded_print(FILE *out, struct heap_graph *heap, const struct leaks_unrecorded *o,
                           struct err *reterr);
