/* SPDX-License-Identifier: MIT */
/* Which memory of a process is a root: all that can be written and is neither a block nor an allocator's own, stacks from their pointer on,
 * registers (docs/holders.md). Takes what is known of the process, touches nothing. */
#pragma once

#include <sys/types.h>

#include "base/vec.h"
#include "patch/maps.h"
#include "reach/memory_scan.h"
#include "reach/reach_graph.h"

struct reach_range {
        uint64_t begin, end;
};

struct reach_thread {
        pid_t tid;
        uint64_t sp;
        uint64_t registers[32];
        unsigned n_registers;
};

struct process_view {
        const struct maps *maps;
        const struct reach_memory *memory;
        const struct reach_block *blocks; /* by address */
        uint32_t n_blocks;
        const struct reach_thread
                *threads; /* stay where they are: roots point to their registers */
        size_t n_threads;
        const struct reach_range *own; /* silt's runtime, by address */
        size_t n_own;
        unsigned below_sp_bytes; /* that belong to a function below its stack pointer */
};

struct process_roots {
        VEC(struct reach_root)
        list; /* owner: of data and mappings, a number in the maps; of stacks and registers, in the threads */
        VEC(struct reach_range)
        heaps; /* an allocator's own memory: what is no block there is nobody's */
};

void process_roots_find(const struct process_view *v, struct process_roots *ret);
void process_roots_done(struct process_roots *r);
