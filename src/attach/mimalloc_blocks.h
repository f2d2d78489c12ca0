/* SPDX-License-Identifier: MIT */
/* Every block of a mimalloc (2.0.9 to 2.2, 64 bits) in a process that stands still: what its pages have and is not on their lists of free blocks.
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - the blocks of a page are told only if they are as many as it counts; if one page does not add up, none is told */
#pragma once

#include "attach/heap_list.h"

/* data: the variables of a program or a library. Adds to ret; false: nothing is told, and nothing was added. */
bool mimalloc_list(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct heap_list *ret);
