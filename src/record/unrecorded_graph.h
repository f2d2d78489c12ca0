/* SPDX-License-Identifier: MIT */
/* The graph of a process that nobody records: its blocks as its allocator's own data have them, without call paths. The process is copied (attach/frozen.h) and
 * runs on. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "reach/heap_graph.h"

struct unrecorded {
        char name[16];             /* of the process */
        uint32_t n_unknown_mapped; /* blocks that its malloc counts and that were not found */
        uint64_t unwalked_bytes;   /* of its heaps: they make no sense to silt */
        unsigned n_looks;          /* how often it was copied */
        uint64_t n_moving_blocks,
                moving_bytes; /* nothing pointed to them at one moment, something at another: they are left out */
};

/* Refused with the reason where it cannot be copied safely, or where its allocator is not one whose blocks silt can list. */
int unrecorded_graph_make(pid_t pid, struct heap_graph *ret, struct unrecorded *ret_what,
                          struct err *reterr);
