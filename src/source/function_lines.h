/* SPDX-License-Identifier: MIT */
/* Where functions begin and end, told from the source itself: blocks in braces and what stands before them. For C, C++,
 * Rust and languages of their kind. Comments, strings and conditions of the preprocessor are understood well enough not to
 * lose count; what is not found is not guessed. Inside source/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct extent {
        uint32_t begin,
                end; /* lines, both in it: from the first word of the declaration to the brace */
};

struct extents {
        VEC(struct extent) items; /* by end */
};

/* Functions called `name`, which is the last part of a path: `insert`, `~Cache`, `operator==`. NULL: all functions.
 * Takes time linear in the text. */
void extents_find(struct extents *e, const char *text, size_t n_bytes, const char *name);
void extents_done(struct extents *e);

/* The smallest that has the line; NULL: none. */
const struct extent *extents_at(const struct extents *e, uint32_t line);
