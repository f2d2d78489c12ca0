/* SPDX-License-Identifier: MIT */
/* A .dwp file: the .dwo files of a program in one, found by the id that a skeleton unit has.
 * DWARF 5, and its forerunner for DWARF 4. Everything in it is hostile. Inside symbol/ only. */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct package;

/* Takes no file that is no package: NULL. */
struct package *package_open(const char *path);
struct package *package_free(struct package *p); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct package, package_free)

bool package_has(const struct package *p, uint64_t dwo_id);

/* The unit of this id as a .dwo file: the descriptor of an unnamed file; -ENOENT when it is not
 * in the package, -EBADMSG when it is damaged. */
int package_extract(const struct package *p, uint64_t dwo_id);
