/* SPDX-License-Identifier: MIT */
/* What a recorder remembers of files it has planned for: those without allocators are not read again for every image; the
 * others' allocators have numbers, by which events name them. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "patch/allocator.h"

struct memory_file {
        dev_t dev;
        ino_t ino;
        off_t size_bytes;
        struct timespec changed;
};

struct memory_allocator {
        const char *family; /* of patch/family.h, by which its functions were found */
        const char *name;   /* what it is */
        char version[16];   /* "" not known */
        char module[512];   /* the file it is in */
};

/* A file with allocators: reading its symbols takes longer than planning. */
struct memory_known {
        struct memory_file file;
        enum allocators_of of;
        struct allocators allocators;
};

struct patch_memory {
        VEC(struct memory_known *) known;
        VEC(struct memory_file) plain; /* files without an allocator */
        VEC(struct memory_allocator) allocators;
};

bool memory_is_plain(const struct patch_memory *m, const struct stat *file);
void memory_add_plain(struct patch_memory *m, const struct stat *file);

struct given;

/* What allocators_read says of the file, and what was given (NULL: nothing), read once; NULL: it has none, or cannot be read. */
const struct allocators *memory_allocators(struct patch_memory *m, const struct stat *file,
                                           const char *open_path, enum allocators_of of,
                                           const struct given *given);

/* From 1; the same for the same family in the same file. open_path: where the file is found. */
uint32_t memory_number(struct patch_memory *m, const char *family, const char *module,
                       const char *open_path, uint32_t said_version);
/* NULL: no allocator has that number. */
const struct memory_allocator *memory_allocator(const struct patch_memory *m, uint32_t number);

void patch_memory_done(struct patch_memory *m);
