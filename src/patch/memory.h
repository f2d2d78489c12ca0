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

/* What was found in a file, as a program or as a library. */
struct memory_found {
        struct memory_file file;
        enum allocators_of of;
        struct allocators found;
};

struct patch_memory {
        VEC(struct memory_file) plain;  /* files without an allocator */
        VEC(struct memory_found) found; /* others, and programs; the oldest is replaced first */
        size_t oldest;
        VEC(struct memory_allocator) allocators;
};

bool memory_is_plain(const struct patch_memory *m, const struct stat *file);
void memory_add_plain(struct patch_memory *m, const struct stat *file);

/* A copy, for allocators_done; false: it was not read yet, or is forgotten. */
bool memory_recall(const struct patch_memory *m, const struct stat *file, enum allocators_of of,
                   struct allocators *ret);
void memory_keep(struct patch_memory *m, const struct stat *file, enum allocators_of of,
                 const struct allocators *found);

/* From 1; the same for the same family in the same file. open_path: where the file is found. */
uint32_t memory_number(struct patch_memory *m, const char *family, const char *module,
                       const char *open_path, uint32_t said_version);
/* NULL: no allocator has that number. */
const struct memory_allocator *memory_allocator(const struct patch_memory *m, uint32_t number);

void patch_memory_done(struct patch_memory *m);
