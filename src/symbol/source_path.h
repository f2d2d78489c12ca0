/* SPDX-License-Identifier: MIT */
/* Paths of source files, each file under one spelling: DWARF has them relative to where the compiler
 * ran, and through as many `..` as the build system liked. Inside symbol/ only. */
#pragma once

#include "base/arena.h"
#include "base/map.h"

struct source_paths {
        struct arena *arena; /* holds the paths that had to be made */
        struct map made;     /* address of a file's name → its path */
};

void source_paths_init(struct source_paths *p);
void source_paths_done(struct source_paths *p);

/* The path of file, compiled in directory; valid as long as p. The same file (the same address) is
 * always asked with the same directory. NULL and the empty directory are allowed, for unknown. */
const char *source_path(struct source_paths *p, const char *directory, const char *file);

/* Without `.`, `..` and empty parts, as far as the text alone allows; in place. */
void source_path_tidy(char *path);
