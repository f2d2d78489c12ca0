/* SPDX-License-Identifier: MIT */
/* How much the C library's malloc has, read from outside (glibc since 2.27, 64 bits). Its arenas have no symbol; they are known by their shape.
 *  - nothing is called or stopped: the program runs on, and may change all of it while it is read
 *  - what is read may be anything: every word is checked before it is used, nothing is followed without end
 *  - what is not recognised beyond doubt is not told */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/memory.h"
#include "base/vec.h"

struct arenas_found {
        uint64_t held_bytes;    /* taken from the system by all arenas, not given back */
        uint64_t free_bytes;    /* of them: in no block */
        uint64_t mmapped_bytes; /* blocks that are a mapping each, with what rounds them up */
        uint32_t n_arenas, n_mmapped;
        uint32_t n_free;  /* free chunks seen */
        bool is_whole;    /* all free chunks were seen; otherwise free_bytes is at least that */
        bool has_mmapped; /* mmapped_bytes and n_mmapped are known */
};

/* data: the C library's variables, as they are at addr. False: no arenas were recognised. */
bool arenas_read(const struct memory *m, uint64_t addr, const uint64_t *data, size_t n_words,
                 struct arenas_found *ret);

enum { ARENA_FAST_LISTS = 10 };

/* An arena, for those who walk its chunks; the main one first. */
struct arena_place {
        uint64_t at, end; /* its own variables */
        uint64_t top;     /* the chunk behind all others */
        uint64_t fast[ARENA_FAST_LISTS];
};
typedef VEC(struct arena_place) arena_places;

bool arenas_list(const struct memory *m, uint64_t addr, const uint64_t *data, size_t n_words,
                 arena_places *ret);
