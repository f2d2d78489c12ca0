/* SPDX-License-Identifier: MIT */
/* Blocks of the allocators in a process that stands still (frozen.h) which are not the C library's: jemalloc's and mimalloc's, wherever they are. */
#pragma once

#include <sys/types.h>

#include "attach/heap_list.h"

enum { OTHER_JEMALLOC, OTHER_MIMALLOC, N_OTHER_HEAPS };

struct other_heaps {
        struct heap_list list;
        struct other_heap {
                const char *name; /* NULL: it is not there */
                uint64_t n_blocks, usable_bytes;
        } heaps[N_OTHER_HEAPS];
        const char *
                missing; /* an allocator that is there and has blocks, but cannot be listed; NULL: none */
};

void other_heaps_read(struct other_heaps *h, pid_t pid, int mem_fd);
void other_heaps_done(struct other_heaps *h);
