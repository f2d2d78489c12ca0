/* SPDX-License-Identifier: MIT */
/* The variables a module's symbol tables know, by address. Inside symbol/ only. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct variable {
        uint64_t begin, end;
        uint64_t reach;   /* highest end of all variables up to this one */
        const char *name; /* linker name, owned by the module */
        uint8_t rank;     /* of several names for one address the highest is shown */
};

struct variables {
        VEC(struct variable) by_begin;
        bool is_loaded;
};

void variables_load(struct variables *v, Dwfl_Module *module);
void variables_done(struct variables *v);

/* The variable that the address is in; NULL: none. */
const struct variable *variables_find(const struct variables *v, uint64_t address);
