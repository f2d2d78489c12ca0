/* SPDX-License-Identifier: MIT */
/* How many words of a file's data lead to a function: code that several tables of functions have is that of several types. Inside symbol/ only. */
#pragma once

#include <elfutils/libdwfl.h>

#include "base/vec.h"
#include "symbol/functions.h"

struct code_pointers {
        VEC(uint64_t)
        targets; /* in code, rising: of each word that the loader relocates; where there is none, of each that is such an address */
        bool is_loaded;
};

void code_pointers_load(struct code_pointers *p, Dwfl_Module *module, const struct functions *f);
void code_pointers_done(struct code_pointers *p);

size_t code_pointers_count(const struct code_pointers *p, uint64_t address);
