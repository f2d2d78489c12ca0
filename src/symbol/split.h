/* SPDX-License-Identifier: MIT */
/* Units of a program built with -gsplit-dwarf whose other half is not where libdw looks (beside the
 * program, or where it was compiled): it is in a .dwp package, under a debug path or in a sysroot.
 * Inside symbol/ only. */
#pragma once

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/macros.h"
#include "symbol/finder.h"

struct split;

/* Looks for the other halves of the units of dwarf that cover an address (sorted). NULL when none is
 * missing or none was found. *ret_n_missing: units that stay without. */
struct split *split_open(Dwarf *dwarf, const struct finder *f, const uint64_t *addresses, size_t n,
                         size_t *ret_n_missing);
struct split *split_free(struct split *s); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct split, split_free)

/* Just those units, whole. Addresses are those of the first DWARF. */
Dwarf *split_dwarf(const struct split *s);
