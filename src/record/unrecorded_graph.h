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
        uint64_t anon_bytes;       /* resident memory of its own; 0: not known */
        uint64_t explained_bytes;  /* blocks of its allocators, and what these keep free */
        unsigned n_looks;          /* how often it was copied */
        uint64_t n_moving_blocks,
                moving_bytes; /* nothing pointed to them at one moment, something at another: they are left out */
};

/* Whether most of its memory is neither a block nor free in an allocator that silt can read: then what silt tells is of the rest. text: a sentence without its end. */
bool unrecorded_is_unexplained(const struct unrecorded *what, char *text, size_t cap);

/* Refused with the reason where it cannot be copied safely, or where its allocator is not one whose blocks silt can list. */
int unrecorded_graph_make(pid_t pid, struct heap_graph *ret, struct unrecorded *ret_what,
                          struct err *reterr);
