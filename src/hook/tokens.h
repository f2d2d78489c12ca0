/* SPDX-License-Identifier: MIT */
/* Numbers for call paths that a lane has told the recorder before (docs/ring-protocol.md, "Tokens").
 *  - hashes[k] is the hash of the k outermost frames of the walker's present stack: only new frames are hashed.
 *    hashes[0] is never noted, so that walks that keep no frame ask which generation of objects this is
 *  - keys is a table with two places for a path, and that where it is, from 1 on, is its token
 *  - two paths are taken for one if 64 bits of their hashes are the same
 * A thread that hardly allocates has no table. Nothing here is true of a lane that somebody jumped out of: then, as
 * when anything else was lost, tokens_forget and unwind_forget go together. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "wire/record.h"

#pragma GCC visibility push(hidden)

struct tokens {
        uint64_t *keys;   /* 0: nobody's; NULL: no table yet */
        uint64_t *hashes; /* 0: see tokens_base */
        uint64_t factor,
                spread; /* of the hash; here because constants take longer to make than to load */
        uint64_t seed;  /* all paths have other keys under another */
        uint32_t shift; /* 64 - log2 of the number of keys */
        uint32_t
                n_told; /* outer frames that the present stack has in common with the last that was told by frames */
        uint32_t n_before;   /* stacks that came before there was a table */
        uint32_t n_replaced; /* keys that gave way to others since the table last grew */
        bool is_counted;     /* its first page, as the runtime's own memory */
};

#ifdef SILT_TINY
#define TOKENS_IS_TINY SILT_TINY
#else
#define TOKENS_IS_TINY 0
#endif

enum {
        TOKENS_FIRST_KEYS = TOKENS_IS_TINY ? 4 : 256,
        TOKENS_MAX_KEYS = TOKENS_IS_TINY ? 64 : WIRE_MAX_TOKEN,
        TOKENS_PAGE_BYTES = 4096,
        TOKENS_BYTES = 3 * TOKENS_PAGE_BYTES, /* behind the walker */
};

/* Where the first keys and all hashes are: stacks of up to 255 frames touch one page. */
struct tokens_room {
        uint64_t keys[256];
        uint64_t hashes[WIRE_MAX_FRAMES + 1];
};
_Static_assert(sizeof(struct tokens_room) <= TOKENS_BYTES, "the room behind the walker");

/* Of everything that was told before nothing is known any more. */
static inline void tokens_forget(struct tokens *t) {
        t->seed += UINT64_C(0x9e3779b97f4a7c15);
        t->n_told = t->n_replaced = 0;
}

/* Of objects that were announced in this process: code that was in none may be in one now. */
extern _Atomic uint32_t tokens_n_modules;

/* Of a lane that has none. */
void tokens_init(struct tokens *t);

/* The hash of the n_kept outer frames of w where none is noted; 0: there is no table. */
uint64_t tokens_base(struct tokens *t, const struct unwind_walker *w, uint32_t n_kept);

/* No pc but 0 adds nothing, none adds what another does, and only the first product depends on the hash before: long stacks
 * do not wait for one multiplication after the other. */
static inline uint64_t tokens_push(uint64_t factor, uint64_t spread, uint64_t hash, uint64_t pc) {
        uint64_t x = pc * spread;

        return hash * factor + (x ^ x >> 32);
}

/* After each walk of w, which gave stack, with its form: the key of this path; 0: there is no table. */
static inline uint64_t tokens_key(struct tokens *t, const struct unwind_walker *w, uint64_t stack) {
        const uint64_t *pcs = unwind_walker_pcs(w), *pc;
        uint64_t kind = stack >> 32, hash, *at, factor, spread;
        uint32_t n_kept = stack & 0xffff;

        if (t->n_told > n_kept)
                t->n_told = n_kept;
        hash = t->hashes[n_kept];
        if (__builtin_expect(hash == 0, 0)) {
                hash = tokens_base(t, w, n_kept);
                if (hash == 0)
                        return 0;
        }
        at = t->hashes + n_kept;
        factor = t->factor;
        spread = t->spread;
        for (pc = pcs + wire_stack_n_new(stack); pc != pcs;)
                *++at = hash = tokens_push(factor, spread, hash, *--pc);
        if (__builtin_expect(kind > 0xff, 0)) /* not UNWIND_END_COMPLETE */
                kind |= (uint64_t)atomic_load_explicit(&tokens_n_modules, memory_order_relaxed)
                        << 16;
        return (hash + kind * spread) | 1;
}

/* A path may be in two places, next to each other: this one and that of place ^ 1. */
static inline uint64_t tokens_place(const struct tokens *t, uint64_t key) {
        uint64_t place = key >> t->shift;

        if (place > WIRE_MAX_TOKEN)
                __builtin_unreachable();
        return place;
}

/* The token of this path; 0: it has none. */
static inline uint64_t tokens_find(const struct tokens *t, uint64_t key) {
        uint64_t place;

        if (__builtin_expect(key == 0, 0))
                return 0;
        place = tokens_place(t, key);
        if (__builtin_expect(t->keys[place] != key, 0)) {
                place ^= 1;
                if (t->keys[place] != key)
                        return 0;
        }
        return place + 1;
}

/* For a path that has none: a token that stands for no other one any more. */
uint64_t tokens_take(struct tokens *t, uint64_t key, bool may_grow);

/* It was told: the token stands for it from now on. */
static inline void tokens_give(const struct tokens *t, uint64_t token, uint64_t key) {
        t->keys[token - 1] = key;
}

#pragma GCC visibility pop
