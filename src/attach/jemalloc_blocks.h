/* SPDX-License-Identifier: MIT */
/* Every block of a jemalloc (5.2.1 and 5.3.0, 64 bits) in a process that stands still: from the tree in which it finds who an address belongs to. What a thread
 * keeps in its cache is free.
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - the blocks are told only if they add up to the figures it keeps (jemalloc.h) */
#pragma once

#include "attach/heap_list.h"

/* data: the variables of a program or a library. Adds to ret; false: nothing is told, and nothing was added. */
bool jemalloc_list(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct heap_list *ret);
