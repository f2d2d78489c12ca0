/* SPDX-License-Identifier: MIT */
#include "hook/tokens.h"

#include "hook/runtime.h"
#include "wire/signal_point.h"

enum {
        TOKENS_START = TOKENS_IS_TINY ? 2 : 32, /* stacks that are told by frames alone */
};

_Atomic uint32_t tokens_n_modules;

static uint64_t tokens_n_keys(const struct tokens *t) {
        return UINT64_C(1) << (64 - t->shift);
}

static uint32_t tokens_shift_of(uint64_t n_keys) {
        return (uint32_t)__builtin_clzll(n_keys) + 1;
}

static struct tokens_room *tokens_room_of(const struct unwind_walker *w) {
        return (struct tokens_room *)((char *)w + unwind_walker_size());
}

static uint64_t tokens_none[WIRE_MAX_FRAMES + 1]; /* never written to */

void tokens_init(struct tokens *t) {
        t->keys = NULL;
        t->hashes = tokens_none;
        t->factor = UINT64_C(0xd6e8feb86659fd93);
        t->spread = UINT64_C(0xa0761d6478bd642f);
        t->shift = tokens_shift_of(TOKENS_FIRST_KEYS);
}

static void tokens_start(struct tokens *t, const struct unwind_walker *w) {
        struct tokens_room *room = tokens_room_of(w);

        if (!t->is_counted)
                runtime_count_bytes(TOKENS_PAGE_BYTES);
        t->is_counted = true;
        SIGNAL_POINT("tokens/start");
        t->keys = room->keys;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("tokens/keys");
        t->hashes = room->hashes; /* last: says that the keys are there */
}

/* A new generation may have other code at the same addresses; its first walk keeps nothing. */
static uint64_t tokens_root(const struct tokens *t, const struct unwind_walker *w) {
        uint64_t root = t->seed + unwind_walker_generation(w) * t->factor;

        return root ? root : 1;
}

HOOK_COLD uint64_t tokens_base(struct tokens *t, const struct unwind_walker *w, uint32_t n_kept) {
        uint64_t hash;

        if (t->hashes == tokens_none) {
                if (++t->n_before < TOKENS_START)
                        return 0;
                tokens_start(t, w);
        }
        hash = tokens_root(t, w);
        for (uint32_t k = 0; k < n_kept; k++)
                t->hashes[k + 1] = hash =
                        tokens_push(t->factor, t->spread, hash, unwind_walker_outer_pc(w, k));
        return hash;
}

/* All paths are told once more, in their new places. Whoever jumps out in between leaves a table that is not smaller
 * than it seems; at worst pages are forgotten. */
static void tokens_grow(struct tokens *t) {
        uint64_t n_keys = tokens_n_keys(t);
        uint64_t n_more = n_keys * 16 < TOKENS_MAX_KEYS ? n_keys * 16 : TOKENS_MAX_KEYS;
        uint64_t *old = t->keys, *pages;

        t->n_replaced = 0; /* without memory, ask again after as many */
        if (n_keys == TOKENS_MAX_KEYS)
                return;
        pages = runtime_map_cache(n_more * sizeof(t->keys[0]));
        SIGNAL_POINT("tokens/mapped");
        if (!pages)
                return;
        t->keys = pages;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("tokens/grow");
        t->shift = tokens_shift_of(n_more);
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("tokens/grown");
        if (n_keys != TOKENS_FIRST_KEYS)
                runtime_unmap_cache(old, n_keys * sizeof(t->keys[0]));
}

uint64_t tokens_take(struct tokens *t, uint64_t key, bool may_grow) {
        uint64_t place = tokens_place(t, key);

        if (t->keys[place] != 0 && t->keys[place ^ 1] != 0) {
                if (++t->n_replaced >= tokens_n_keys(t) / 2 && may_grow)
                        tokens_grow(t);
                place = tokens_place(t, key) ^ (t->n_replaced & 1);
        } else if (t->keys[place] != 0) {
                place ^= 1;
        }
        t->keys[place] = 0;
        return place + 1;
}
