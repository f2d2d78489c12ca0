/* SPDX-License-Identifier: MIT */
/* The blocks that an allocator has, as its own memory tells them, in a process that stands still. */
#pragma once

#include "attach/memory.h"
#include "base/vec.h"

struct heap_block {
        uint64_t address;
        uint64_t size_bytes; /* what it can hold: what was requested is not known */
};

struct heap_list {
        VEC(struct heap_block) blocks; /* in no order */
        VEC(struct memory_span)
        own; /* memory in which the allocator knows its blocks: an address there holds nothing */
};

static inline void heap_list_done(struct heap_list *l) {
        vec_free(&l->blocks);
        vec_free(&l->own);
}
