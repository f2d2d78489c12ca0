/* SPDX-License-Identifier: MIT */
/* Inside record/ only. What allocators say of their free memory, as rows of a bill (docs/bill.md, "Allocators' own books"). */
#pragma once

#include "attach/heap_list.h"
#include "resident/page_set.h"

/* The rows of one allocator, behind those that there are: `a` says which, and goes into the bill. first, n_kinds: the kinds of free memory that are its. What
 * would be given back is told from the pages that are resident. */
void allocator_books_add(struct resident *r, struct resident_allocator a, const heap_frees *frees,
                         enum heap_free_kind first, unsigned n_kinds, const struct page_set *pages);
