/* SPDX-License-Identifier: MIT */
/* The functions a module's symbol tables know, by address. Inside symbol/ only. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct function {
        uint64_t begin, end; /* end == begin: the table gives no size */
        uint64_t reach;      /* highest end of all functions up to this one */
        const char *name;    /* linker name, owned by the module */
        uint32_t section;
        uint8_t rank; /* of several names for one address the highest is shown */
};

struct functions {
        VEC(struct function) by_begin;
};

void functions_load(struct functions *f, Dwfl_Module *module);
void functions_done(struct functions *f);

/* The function at the address; *ret_guess when it is only the nearest one below. NULL: none. */
const struct function *functions_find(const struct functions *f, uint64_t address, bool *ret_guess);
