/* SPDX-License-Identifier: MIT */
/* Lines and chains of inlined functions, from DWARF. Each compilation unit is walked once for
 * all addresses in it. Inside symbol/ only.
 *  - a chain is the nesting of the entries, whatever their ranges say of each other
 *  - code the linker dropped has its description left over, at address 0: it is not looked at
 *  - a unit that leads in circles or ends before its end has no chains, and the result is `damaged`;
 *    so is one that has more to say than its size allows: then the rest is not looked at */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/source_path.h"

#define INLINE_NONE UINT32_MAX

/* A call that was replaced by the body of the function called. */
struct inline_site {
        Dwarf_Die die;         /* of the inlined function */
        const char *call_file; /* where it was called; NULL unknown */
        uint32_t call_line;
        uint32_t
                caller; /* the site it lies in; INLINE_NONE: directly in the function really called */
};

struct inline_place {
        const char *file; /* NULL unknown */
        uint32_t line;
        uint32_t site;     /* innermost inlined call; INLINE_NONE: none */
        uint32_t function; /* in functions: the one really called; INLINE_NONE unknown */
};

struct inline_result {
        VEC(struct inline_site) sites;
        VEC(Dwarf_Die) functions;
        struct inline_place *places; /* one an address */
        bool damaged;                /* chains are missing */
        bool lines_damaged;          /* some units' lines could not be read */
        struct source_paths paths;
};

/* addresses are sorted, in dwarf's own terms; below code_begin lies no code. Strings live as long as dwarf and
 * the result. */
void inline_find(Dwarf *dwarf, const uint64_t *addresses, size_t n, uint64_t code_begin,
                 struct inline_result *ret);
void inline_done(struct inline_result *r);

/* Linker name of a function, or its plain name; NULL unknown. */
const char *inline_linker_name(Dwarf_Die *die);
