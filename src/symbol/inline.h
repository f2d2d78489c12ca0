/* SPDX-License-Identifier: MIT */
/* Lines and chains of inlined functions, from DWARF. Each compilation unit is walked once for
 * all addresses in it. Inside symbol/ only. */
#pragma once

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/vec.h"

/* A function inlined at an address, or the line of the address itself. */
struct inline_call {
        size_t address_idx;
        unsigned depth;        /* 1: inlined directly into the function really called */
        Dwarf_Die die;         /* of the inlined function */
        const char *call_file; /* where it was called; NULL unknown */
        uint32_t call_line;
};

struct inline_line {
        const char *file; /* NULL unknown */
        uint32_t line;
};

struct inline_result {
        VEC(struct inline_call) calls; /* sorted by address_idx, depth rising */
        struct inline_line *lines;     /* one an address */
};

/* addresses are sorted, in dwarf's own terms. Strings belong to dwarf. */
void inline_find(Dwarf *dwarf, const uint64_t *addresses, size_t n, struct inline_result *ret);
void inline_done(struct inline_result *r);

/* Linker name of the inlined function, or its plain name; NULL unknown. */
const char *inline_linker_name(Dwarf_Die *die);
