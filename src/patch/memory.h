/* SPDX-License-Identifier: MIT */
/* What a recorder remembers of files it has planned for: those without allocators are not read again for every image. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/vec.h"

struct memory_file {
        dev_t dev;
        ino_t ino;
        off_t size_bytes;
        struct timespec changed;
};

struct patch_memory {
        VEC(struct memory_file) plain; /* files without an allocator */
};

bool memory_is_plain(const struct patch_memory *m, const struct stat *file);
void memory_add_plain(struct patch_memory *m, const struct stat *file);

void patch_memory_done(struct patch_memory *m);
