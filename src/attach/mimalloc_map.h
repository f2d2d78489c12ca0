/* SPDX-License-Identifier: MIT */
/* Every block of a mimalloc 3 (64 bits) in a process that stands still: what its pages have and is not on their lists of free blocks. A map that leads from every
 * address to its page is among its variables.
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - the blocks of a page are told only if they are as many as it counts; if one page does not add up, none is told */
#pragma once

#include "attach/heap_list.h"

/* data: the variables of a program or a library. page: of one of its heaps. Adds to ret; false: nothing is told, and nothing was added. */
bool mimalloc_map_list(const struct memory *m, const uint64_t *data, size_t n_words, uint64_t page,
                       struct heap_list *ret);
