/* SPDX-License-Identifier: MIT */
/* What a recorder remembers of files and processes it has planned for: files without allocators are not read again for
 * every image, objects that a process has had for a while not again when it opens another. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/vec.h"

struct memory_file {
        dev_t dev;
        ino_t ino;
        off_t size_bytes;
        struct timespec changed;
};

struct memory_object {
        uint32_t process;
        uint64_t begin, path_hash;
        bool is_there; /* seen by the look that is under way */
};

struct patch_memory {
        VEC(struct memory_file) plain; /* files without an allocator */
        VEC(struct memory_object) objects;
};

bool memory_is_plain(const struct patch_memory *m, const struct stat *file);
void memory_add_plain(struct patch_memory *m, const struct stat *file);

/* A look at a process: begin, each of its objects, end. What is not met until the end is forgotten; is_anew forgets
 * everything at the begin. */
void memory_look_begin(struct patch_memory *m, uint32_t process, bool is_anew);
/* True when the object is new. */
bool memory_look_at(struct patch_memory *m, uint32_t process, uint64_t begin, const char *path);
void memory_look_end(struct patch_memory *m, uint32_t process);

void patch_memory_done(struct patch_memory *m);
