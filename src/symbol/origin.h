/* SPDX-License-Identifier: MIT */
/* The sentence about a module's names: what is missing, why, and what to do. Inside symbol/ only. */
#pragma once

#include "symbol/finder.h"
#include "symbol/functions.h"
#include "symbol/module.h"

/* What came of looking up a module's addresses. */
struct origin_counts {
        size_t n_addresses;
        size_t n_lines;    /* with a source line */
        size_t n_lineless; /* without one, though compiled from source: not the linker's own */
        size_t n_named;    /* with a function, guesses not counted */
        size_t n_guesses;
        size_t n_unsplit; /* units whose .dwo file was not found */
        bool is_damaged;  /* parts of the debug information were not to be believed */
};

void origin_of_missing(struct symbol_origin *o, const struct finder *f, int why);
void origin_of_names(struct symbol_origin *o, const struct finder *f,
                     const struct functions *functions, const struct origin_counts *c,
                     bool has_dwarf);

/* Startup code that no debug information describes, and that nobody misses. */
bool origin_is_linkers(const char *linker_name);
