/* SPDX-License-Identifier: MIT */
/* Threads' caches of a jemalloc 5.3.0 in a process that stands still: what is in one is free, and what has been in one may still stand there. */
#pragma once

#include "attach/heap_list.h"

/* Takes the blocks in caches, and the caches themselves, out of the list; a cache is the allocator's own then. What is not recognised stays. extents: by address,
 * where blocks are and nothing else. */
void jemalloc_caches_drop(const struct memory *m, const struct memory_span *extents,
                          size_t n_extents, struct heap_list *list);
