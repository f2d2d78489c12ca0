/* SPDX-License-Identifier: MIT */
/* Which functions an allocator has, by name, and what each does with its arguments. docs/patching.md lists them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/patch_plan.h"

/* A function that allocates or releases. */
struct family_role {
        const char *name; /* behind the family's prefix */
        uint8_t call;     /* enum wire_call */
        uint8_t form;     /* enum wire_form */
        uint8_t size_arg, count_arg, block_arg;
        uint8_t heap; /* enum wire_entry_heap; 0: the thread's, if the family has any */
};

struct family {
        const char *name;   /* "jemalloc" */
        const char *prefix; /* of its names; NULL: any, as found before those of the company */
        const char
                *mark; /* a function it has in any case; NULL: none is needed, or there is none */
        /* Some of these must be there under the same prefix, where that is any; ends with NULL. */
        const char *const *company;
        /* A linker drops what nobody calls, so that any of its functions may be missing. Where there are names of its inner code, each
         * function of its tells it; those whose whole names begin like this do so by themselves. End with NULL; NULL: none. */
        const char *const *inner_names, *const *telling_names;
        const char *const
                *own_names; /* beginnings of other names of its own code; ends with NULL */
        const struct family_role *roles;
        size_t n_roles;
        /* Names that a program's own function may have by chance: only those that the linker knows elsewhere. */
        bool is_global_only;
        /* Symbols that a preloaded library takes the place of, where they are not in the executable itself. */
        bool is_preloadable;
        bool has_heaps; /* that can be released whole */
        /* Its static functions have no names: what lies between it and the neighbours' functions is its own. */
        bool has_nameless_code;
        bool is_attached_only; /* to be hooked where no preloaded library stands before it */
        bool is_loader;        /* no allocator: ld.so, which says when it has opened an object */
};

extern const struct family families[];
extern const size_t n_families;
