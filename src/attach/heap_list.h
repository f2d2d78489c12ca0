/* SPDX-License-Identifier: MIT */
/* The blocks that an allocator has, as its own memory tells them, in a process that stands still. */
#pragma once

#include "attach/memory.h"
#include "base/vec.h"

struct heap_block {
        uint64_t address;
        uint64_t size_bytes; /* what it can hold: what was requested is not known */
};

/* Numbers are of no file. What each is: docs/bill.md, "Allocators' own books". */
enum heap_free_kind {
        HEAP_FREE_THREAD, /* glibc: in a thread's cache; number: which */
        HEAP_FREE_FAST,   /* glibc; number: the arena, as of all that follow */
        HEAP_FREE_BIN,
        HEAP_FREE_TOP,
        HEAP_FREE_REST, /* glibc: in its lists, and not where its chunks were seen */
        HEAP_FREE_SLAB, /* jemalloc */
        HEAP_FREE_DIRTY,
        HEAP_FREE_MUZZY,
        HEAP_FREE_CACHED, /* jemalloc: in the caches of all threads */
        HEAP_FREE_BLOCK,  /* mimalloc: blocks in pages that have others in use */
        HEAP_FREE_PAGE,   /* mimalloc: pages without one */
        HEAP_FREE_N_KINDS,
};

/* Memory that an allocator has, and that is in no block. address 0: not known. */
struct heap_free {
        uint64_t address, size_bytes; /* with headers */
        uint32_t kind, number;
        uint64_t n_blocks;
};
typedef VEC(struct heap_free) heap_frees;

/* One that lies behind the last is joined with it. */
static inline void heap_frees_add(heap_frees *l, struct heap_free f) {
        struct heap_free *last = l->n ? &l->items[l->n - 1] : NULL;

        if (last && last->kind == f.kind && last->number == f.number && last->address &&
            f.kind != HEAP_FREE_BIN && last->address + last->size_bytes == f.address) {
                last->size_bytes += f.size_bytes;
                last->n_blocks += f.n_blocks;
        } else {
                vec_push(l, f);
        }
}

struct heap_list {
        VEC(struct heap_block) blocks; /* in no order */
        VEC(struct memory_span)
        own; /* memory in which the allocator knows its blocks: an address there holds nothing */
        heap_frees frees;
};

static inline void heap_list_done(struct heap_list *l) {
        vec_free(&l->blocks);
        vec_free(&l->own);
        vec_free(&l->frees);
}
