/* SPDX-License-Identifier: MIT */
/* Which allocators a program brings along inside its own executable. Their calls never pass through the
 * dynamic linker, so a preloaded runtime does not see them; better said before a run than found out after. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct allocators {
        const char *
                linked_in; /* "jemalloc (Rust)", "mimalloc", … inside the executable; NULL: none found */
        bool defines_malloc;   /* the executable's own malloc comes before any preloaded one */
        bool has_symbol_table; /* without one, what is inside cannot be told */
};

/* 0, or -errno when the file cannot be read as ELF. */
int allocators_find(const char *path, struct allocators *ret, struct err *reterr);
