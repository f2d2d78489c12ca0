/* SPDX-License-Identifier: MIT */
/* The call stack of one thread, as its records tell it: each names how many outer frames it keeps and the new ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/intern.h"
#include "pipeline/paths.h"
#include "wire/record.h"

struct callpath {
        uint64_t *hashes; /* [i]: of the i outermost frames; NULL before the first record */
        uint64_t *pcs;    /* outermost first */
        uint32_t depth, cap;
};

void callpath_done(struct callpath *c);
void callpath_clear(struct callpath *c); /* for another thread; keeps its memory */
void callpath_grow(struct callpath *c, uint32_t n, const struct path_key *key);

/* Takes the stack that `word` and the frames behind it make of the last one, and gives its hash; false: it keeps more than
 * there is. */
static inline bool callpath_take(struct callpath *c, const struct path_key *key,
                                 const uint64_t *word, uint64_t *ret_hash) {
        uint32_t n_kept = *word & 0xffff, n_new = wire_stack_n_new(*word);
        uint64_t hash, *hashes, *pcs;

        if (unlikely(n_kept > c->depth))
                return false;
        if (unlikely(n_kept + n_new >= c->cap))
                callpath_grow(c, n_kept + n_new, key);
        hashes = c->hashes + n_kept;
        pcs = c->pcs + n_kept;
        hash = *hashes;
        for (uint32_t i = n_new; i > 0; i--) {
                *pcs++ = word[i];
                *++hashes = hash = path_hash_push(key, hash, word[i]);
        }
        c->depth = n_kept + n_new;
        *ret_hash = path_hash_done(hash);
        return true;
}

/* The stack of the trace that the record last taken stands for; it and all its callers are found by their hashes from
 * now on. */
uint32_t callpath_intern(const struct callpath *c, struct intern *in, struct intern_space *space);
