/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_LOOKUP_H
#define SILT_UNWIND_LOOKUP_H

/* From a key to its row: a thread's own cache, then the process's table, then the CFI.
 * A key is return address - 1, or an interrupted pc as it is. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/row.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

enum {
#ifdef SILT_TINY
        LOOKUP_FIRST_ENTRIES = 1,
        LOOKUP_MAX_ENTRIES = 1,
#else
        LOOKUP_FIRST_ENTRIES = 256,
        LOOKUP_MAX_ENTRIES = 4096,
#endif
};

struct lookup_entry {
        uint64_t key;  /* 0: empty */
        uint64_t word; /* a quick_t, or a row_t that has no quick form */
};

/* Direct-mapped, of one thread. Starts in memory of the walker, grows into pages of its own. */
struct lookup_cache {
        struct lookup_entry *entries;
        uint64_t off_mask;  /* (n_entries - 1) * sizeof(struct lookup_entry) */
        uint64_t n_entries; /* a power of two */
        uint64_t n_misses;  /* since it last grew or was emptied */
        struct lookup_entry *first;
};

void lookup_init(const struct unwind_env *env);

void lookup_cache_init(struct lookup_cache *c, struct lookup_entry *first);
void lookup_cache_clear(struct lookup_cache *c);
void lookup_cache_done(struct lookup_cache *c);

/* c may be NULL. ctx goes to on_module; NULL: objects are not announced. */
row_t lookup_miss(struct lookup_cache *c, uint64_t generation, uint64_t key, void *ctx);

/* The hash is computed as a byte offset at once. Call sites are 4 bytes apart on aarch64. */
static inline struct lookup_entry *lookup_entry_of(const struct lookup_cache *c, uint64_t key) {
#if defined(__aarch64__)
        uint64_t off = key << 2 ^ key >> 8;
#else
        uint64_t off = key << 4 ^ key >> 6;
#endif
        return (struct lookup_entry *)((char *)c->entries + (off & c->off_mask));
}

static inline row_t lookup_row(struct lookup_cache *c, uint64_t generation, uint64_t key,
                               void *ctx) {
        if (__builtin_expect(c != NULL, 1)) {
                const struct lookup_entry *e = lookup_entry_of(c, key);

                if (__builtin_expect(e->key == key, 1))
                        return quick_is(e->word) ? quick_to_row(e->word) : e->word;
        }
        return lookup_miss(c, generation, key, ctx);
}

/* Is addr what a call in the executable, or in the object that holds pc, returns to? Both stay loaded
 * while pc is on the stack: their code can be looked at. */
bool lookup_is_return_address(uint64_t addr, uint64_t pc);

#pragma GCC visibility pop

#endif
