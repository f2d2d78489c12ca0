/* SPDX-License-Identifier: MIT */
/* The call stack of one thread, as its records tell it: each names how many outer frames it keeps and the new ones.
 *
 * Two steps. *Hashing* runs ahead with the decoder and needs no look-up. *Taking* follows in the same order, when the
 * hash has been looked up: it keeps the program counters, for the stacks that are not known by their hash. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/intern.h"
#include "pipeline/paths.h"

struct callpath {
        /* as far as hashed */
        uint64_t *hashes; /* [i]: of the i outermost frames; NULL before the first record */
        uint32_t depth, cap;
        /* as far as taken */
        uint64_t *pcs; /* outermost first */
};

void callpath_done(struct callpath *c);
void callpath_clear(struct callpath *c); /* for another thread; keeps its memory */
void callpath_grow(struct callpath *c, uint32_t n, const struct path_key *key);

static inline uint32_t stack_word_n_kept(const uint64_t *word) {
        return *word & 0xffff;
}

static inline uint32_t stack_word_n_new(const uint64_t *word) {
        return *word >> 16 & 0xffff;
}

/* The hash of the stack that `word` and the frames behind it make of the last one; false: it keeps more than there is. */
static inline bool callpath_hash(struct callpath *c, const struct path_key *key,
                                 const uint64_t *word, uint64_t *ret) {
        uint32_t n_kept = stack_word_n_kept(word), n_new = stack_word_n_new(word);
        uint64_t hash, *hashes;

        if (unlikely(n_kept > c->depth))
                return false;
        if (unlikely(n_kept + n_new >= c->cap))
                callpath_grow(c, n_kept + n_new, key);
        hashes = c->hashes + n_kept;
        hash = *hashes;
        for (uint32_t i = n_new; i > 0; i--)
                *++hashes = hash = path_hash_push(key, hash, word[i]);
        c->depth = n_kept + n_new;
        *ret = path_hash_done(hash);
        return true;
}

/* The same record's turn to be taken. */
static inline void callpath_take(struct callpath *c, const uint64_t *word) {
        uint32_t n_kept = stack_word_n_kept(word), n_new = stack_word_n_new(word);
        uint64_t *pcs = c->pcs + n_kept;

        for (uint32_t i = 0; i < n_new; i++)
                pcs[i] = word[n_new - i];
}

/* The stack of the trace that the record last taken, of `depth` frames, stands for; it and all its callers are found
 * by their hashes from now on. */
uint32_t callpath_intern(struct callpath *c, uint32_t depth, struct intern *in,
                         struct intern_space *space);
