/* SPDX-License-Identifier: MIT */
/* The graph of a process that stands still: a copy of it, read from outside. */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "reach/heap_graph.h"
#include "reach/process_roots.h"

/* A block as it comes: in any order. */
struct found_block {
        uint64_t address, size_bytes, seq;
        uint32_t site;
};

struct process_graph {
        pid_t pid; /* whose memory it is */
        int mem_fd;
        pid_t living; /* whose copy that is, and */
        const struct maps *
                before; /* its mappings before: for what children do not get (process_image.h). 0, NULL: nothing is */
        const struct reach_thread *threads;
        char (*thread_names)[16];
        size_t n_threads;
        struct found_block *
                blocks; /* sorted in place; of two that overlap the first stays, unless it is the whole of the other */
        size_t n_blocks;
        bool has_seqs;
        const struct reach_range *own; /* silt's runtime */
        size_t n_own;
        unsigned below_sp_bytes;
        const atomic_bool *is_over;
        _Atomic uint64_t *done_bytes;
        _Atomic uint64_t *all_bytes; /* set before the scan */
};

/* 0, -ECANCELED, -errno. */
int process_graph_make(const struct process_graph *p, struct heap_graph *ret, struct err *reterr);
