/* SPDX-License-Identifier: MIT */
/* What a recorder remembers of files it has planned for: those without allocators are not read again for every image; the
 * others' allocators have numbers, by which events name them. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "patch/allocator.h"
#include "patch/imprint.h"

struct known_file {
        dev_t dev;
        ino_t ino;
        off_t size_bytes;
        struct timespec changed;
};

struct known_allocator {
        const char *family; /* of patch/allocator_family.h, by which its functions were found */
        const char *name;   /* what it is */
        char version[16];   /* "" not known */
        char module[512];   /* the file it is in */
};

/* What was found in a file, as a program or as a library. */
struct known_files_found {
        struct known_file file;
        enum allocators_of of;
        struct allocators found;
};

struct known_files_imprint {
        struct known_file file;
        struct imprint imprint;
};

struct known_files {
        VEC(struct known_file) plain; /* files without an allocator */
        VEC(struct known_files_imprint) imprints;
        VEC(struct known_files_found)
        found; /* others, and programs; the oldest is replaced first */
        size_t oldest;
        VEC(struct known_allocator) allocators;
};

bool known_files_is_plain(const struct known_files *m, const struct stat *file);
void known_files_add_plain(struct known_files *m, const struct stat *file);

/* A copy, for allocators_done; false: it was not read yet, or is forgotten. */
bool known_files_recall(const struct known_files *m, const struct stat *file, enum allocators_of of,
                        struct allocators *ret);
void known_files_keep(struct known_files *m, const struct stat *file, enum allocators_of of,
                      const struct allocators *found);

/* What a reading that is over has found. */
void known_files_learn(struct known_files *m, const struct stat *file,
                       const struct allocators_file *read);

/* As imprint_read, once of each file. */
int known_files_imprint(struct known_files *m, const char *path, struct imprint *ret);
void known_files_keep_imprint(struct known_files *m, const struct stat *file,
                              const struct imprint *imprint);

/* From 1; the same for the same family in the same file. open_path: where the file is found. */
uint32_t known_files_number(struct known_files *m, const char *family, const char *module,
                            const char *open_path, uint32_t said_version);
/* NULL: no allocator has that number. */
const struct known_allocator *known_allocator(const struct known_files *m, uint32_t number);
