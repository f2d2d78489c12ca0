/* SPDX-License-Identifier: MIT */
/* Whole stacks by a hash of their program counters: a stack seen before costs one look-up, however many frames
 * of it are new. A cache: rows of four places, one cache line each; what does not fit any more is found
 * again frame by frame (intern.h).
 *
 * Two stacks with the same 64 bits would be taken for one: with a million stacks that happens once in ten million
 * recordings, and the key is the recorder's secret, so that a target cannot arrange it either. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum { PATHS_PER_ROW = 4 };

struct path {
        uint64_t hash; /* 0: this place is free */
        uint32_t stack;
        uint32_t reserved;
};
_Static_assert(sizeof(struct path) * PATHS_PER_ROW == 64, "a row is a cache line");

struct paths {
        struct path *rows;
        uint32_t shift; /* 64 - log2 of the number of rows */
        size_t n_added; /* since it last grew */
};

/* Secret of one recording. */
struct path_key {
        uint64_t seed, mask, factor;
};

void path_key_init(struct path_key *key);

/* The hash of a stack from that of its caller and the pc it called from. Only the first product depends on the
 * hash before, so that long stacks do not wait for one multiplication after the other. */
static inline uint64_t path_hash_push(const struct path_key *key, uint64_t hash, uint64_t pc) {
        unsigned __int128 x = (unsigned __int128)(pc ^ key->mask) * key->factor;

        return hash * 0xd6e8feb86659fd93ull + ((uint64_t)x ^ (uint64_t)(x >> 64));
}

/* As it is looked up: 0 marks free places. */
static inline uint64_t path_hash_done(uint64_t hash) {
        return hash != 0 ? hash : 1;
}

void paths_init(struct paths *p);
void paths_done(struct paths *p);
void paths_clear(struct paths *p);
size_t paths_size_bytes(const struct paths *p);

static inline struct path *paths_row(const struct paths *p, uint64_t hash) {
        return &p->rows[(hash * 0x9e3779b97f4a7c15ull >> p->shift) * PATHS_PER_ROW];
}

/* NULL when it is not there. hash is not 0. */
static inline struct path *paths_find(const struct paths *p, uint64_t hash) {
        struct path *row = paths_row(p, hash);

        for (int i = 0; i < PATHS_PER_ROW; i++)
                if (row[i].hash == hash)
                        return &row[i];
        return NULL;
}

/* In place of another one, perhaps. Moves the others. */
void paths_add(struct paths *p, const struct path *path);
