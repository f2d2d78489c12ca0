/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_OBJECT_H
#define SILT_UNWIND_OBJECT_H

/* Code objects: which one a pc is in, and where its unwind tables and code are readable.
 * Through glibc's _dl_find_object, which takes no lock; before glibc 2.35 through a table of our
 * own that object_refresh fills. The vdso is known by its address where the loader does not list it.
 *
 * A caller asks about pcs found on its own stack: their objects stay loaded while it runs. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

struct object {
        struct unwind_module module;
        struct cfi_image image; /* ranges: the readable segments */
};

void object_init(const struct unwind_env *env);
void object_refresh(void); /* see unwind_modules_refresh */

bool object_known(uint64_t pc);
bool object_find(uint64_t pc, struct object *ret);

#pragma GCC visibility pop

#endif
