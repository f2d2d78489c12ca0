/* SPDX-License-Identifier: MIT */
/* Heaps that can be released whole: mimalloc's (mi_heap_destroy), jemalloc's arenas (arena.<i>.reset and destroy of mallctl).
 * The recorder is told which blocks are in one when they are allocated, and what becomes of the heap. A program without
 * such heaps pays for two tests an allocation.
 *
 * A heap's number on the wire is its address (mimalloc), or as PATCHED_HEAP_ARENA says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hook/patched_frame.h"

#pragma GCC visibility push(hidden)

#define PATCHED_HEAP_ARENA ((uint64_t)1 << 63) /* | which jemalloc << 32 | its arena's number */
/* The block may be of another arena: it may come out of a cache. jemalloc could say, but only under its control lock. */
#define PATCHED_HEAP_ASSUMED ((uint64_t)1 << 62)

/* A heap was made that can be released whole. */
extern bool patched_has_heaps;

/* An entry that works by now, of whatever kind; before the program's code calls it. */
void patched_heap_know(const struct wire_entry *entry);

/* It does not any more. */
void patched_heap_forget(const struct wire_entry *entry);

/* Before a call that allocates: what it allocates from. 0: nothing that can be released whole. */
uint64_t patched_heap_asked(const struct patched_frame *f, const struct thread *t);

/* After it and before the event: the block is in f->heap. */
void patched_heap_tell(const struct patched_frame *f, void *block);

/* Around calls about heaps (WIRE_CALL_HEAP_NEW and up). False: nothing is to be done after it. Of these only the one that makes many
 * blocks at once is followed where blocks are sampled. */
bool patched_heap_before(struct patched_frame *f, struct thread *t, bool is_sampled);
/* What the thread is in meanwhile; fn: the function. */
const struct real_fn *patched_heap_fn(const struct patched_frame *f, const struct real_fn *fn);
void patched_heap_after(struct patched_frame *f, uint64_t result);

#pragma GCC visibility pop
