/* SPDX-License-Identifier: MIT */
/* Sources of GLib's main loops among blocks, told by struct _GSource, which is the same since GLib 2.0 (docs/tasks.md). */
#pragma once

#include "reach/memory_scan.h"

/* Words of its head. */
enum {
        SOURCE_DATA,        /* what its callback is kept in, a block of its own; 0: none was set */
        SOURCE_GETTERS,     /* the table of who made that; 0 with it */
        SOURCE_TABLE,       /* GSourceFuncs: what kind of source it is */
        SOURCE_REFS,        /* 32 bits, then nothing */
        SOURCE_CONTEXT,     /* 0: in none */
        SOURCE_FLAGS,       /* the upper half; the lower one is the priority */
        SOURCE_ID,          /* 32 bits, then nothing */
        SOURCE_BYTES = 96,  /* at least */
        SOURCE_CALLBACK = 1 /* word of what the callback is kept in: the function */
};

/* By its words alone, which may be something else's. */
bool source_head_is_like(const uint64_t *words);

/* The same, and its tables are some: in a file's memory, and of functions. */
bool source_head_is(const struct reach_memory *m, const uint64_t *words, uint64_t n_bytes);

/* Adds the heads of what callbacks are kept in, of sources among the heads. All are by block, before and after. */
void source_head_add_callbacks(const struct reach_memory *m, const struct reach_block *blocks,
                               uint32_t n_blocks, heap_head_list *heads);
