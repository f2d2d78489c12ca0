/* SPDX-License-Identifier: MIT */
/* Memory for whoever allocates before the runtime can call the real allocator. Blocks are never
 * reused; the arena is also the log of what was done in it, which recording starts by replaying:
 *
 *   [ entry ][ block … ] [ entry (EARLY_FREE) ] [ entry (EARLY_FILL) … ] [ entry ][ block … ]
 *
 * Callable before libsilt.so is relocated: no GOT, no TLS, no call out. Thread-safe,
 * signal-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/runtime.h"

#pragma GCC visibility push(hidden)

enum {
        EARLY_FIRST_BYTES = 256 << 10, /* static; memory only as touched */
        EARLY_SECOND_BYTES = 64 << 20, /* mapped when the first is full */
        EARLY_ALIGN = 16,
};

enum early_kind {
        EARLY_UNFINISHED = 0,
        EARLY_ALLOC = 1,
        EARLY_REALLOC = 2,
        EARLY_FREE = 3,
        EARLY_FILL = 4
};

struct early_entry {
        uint64_t entry_bytes; /* this header and the block */
        uint64_t size_bytes;  /* of the block, as asked for */
        const void *caller;
        uint32_t old;         /* EARLY_REALLOC, EARLY_FREE: offset of the block released */
        uint8_t form;         /* enum wire_form */
        _Atomic uint8_t kind; /* enum early_kind; written last */
        uint8_t is_in_second; /* old is in the second arena */
};

_Static_assert(sizeof(struct early_entry) == 32, "blocks behind an entry stay aligned");

struct early_arena {
        uint8_t *bytes;
        size_t size_bytes;
        _Atomic size_t used_bytes;
};

extern uint8_t early_first[EARLY_FIRST_BYTES];
extern struct early_arena early_second; /* size_bytes 0: there is none */

/* form: enum wire_form. caller: who asked for the block. align_bytes: a power of two. NULL when
 * there is nothing left; errno is not touched. */
void *early_alloc(size_t size_bytes, size_t align_bytes, unsigned form, const void *caller);
void *early_realloc(void *block, size_t size_bytes, const void *caller);
void early_free(void *block);

static inline bool early_owns(const void *p) {
        return (uintptr_t)p - (uintptr_t)early_first < EARLY_FIRST_BYTES ||
               unlikely((uintptr_t)p - (uintptr_t)early_second.bytes < early_second.size_bytes);
}

static inline size_t early_size(const void *block) {
        return ((const struct early_entry *)block - 1)->size_bytes;
}

/* Calls fn for every entry in order. old: the block an EARLY_REALLOC or EARLY_FREE releases. */
void early_replay(void (*fn)(void *ctx, const struct early_entry *entry, void *block, void *old),
                  void *ctx);

#pragma GCC visibility pop
