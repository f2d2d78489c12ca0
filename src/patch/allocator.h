/* SPDX-License-Identifier: MIT */
/* The allocators inside one file of code, found by the names of their functions: in its symbol tables, the one that is
 * compressed (.gnu_debugdata), or its separate debug file. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "patch/allocator_family.h"
#include "patch/patch.h"
#include "symbol/code_file.h"

enum { ALLOCATORS_MAX = 16 }; /* of one file */

struct allocator_function {
        const struct family_role *role;
        uint32_t allocator;      /* index */
        uint64_t begin, n_bytes; /* the file's own addresses */
        size_t padding_bytes;    /* behind it up to the next function */
        char name[64];
};

struct allocator {
        const struct family *family;
        char prefix[32];
        uint64_t code_begin,
                code_end; /* all of its code, as far as names tell; 0: each function its own */
        uint64_t version_begin; /* a function that returns the version; 0: none */
        size_t n_functions;
};

struct allocators {
        VEC(struct allocator) list;
        VEC(struct allocator_function) functions; /* by address, each address once */
        bool has_symbol_table; /* without one nothing can be told but what is exported */
        uint64_t
                malloc_begin; /* of the function that others call malloc, whatever its other names; 0: none */
};

/* Whose functions are looked for. */
enum allocators_of {
        ALLOCATORS_OF_PROGRAM, /* all: nothing comes before a program's own functions */
        ALLOCATORS_OF_LIBRARY, /* only those that a preloaded library does not take the place of */
        ALLOCATORS_OF_ANY_LIBRARY, /* all: nothing was preloaded */
        ALLOCATORS_OF_C_LIBRARY, /* the same by the names it exports alone: a program waits for it */
        ALLOCATORS_OF_LOADER,    /* what ld.so calls when it has opened an object */
};

struct allocators_file {
        const char *path;
        enum allocators_of of;
        bool is_known; /* found is filled already: it is not read */
        int r; /* 0, also when there are none; -errno when the file cannot be read, with the reason */
        struct err err;
        struct allocators found; /* the caller's, for allocators_done */
};
/* Files may be anything: they are read in a process of its own (isolated.h). */
void allocators_read_all(struct allocators_file *files, size_t n);

/* The same in steps, for whoever reads other things in the same child: files stay where they are until the end, which frees. */
struct allocators_reading;
struct allocators_reading *allocators_reading_new(struct allocators_file *files, size_t n);
void allocators_reading_one(void *reading, size_t i); /* in the child */
bool allocators_reading_is_nameless(const struct allocators_reading *r, size_t i); /* likewise */
void allocators_reading_end(struct allocators_reading *r, const bool *is_done, bool is_in_time);

/* The same in this process. */
int allocators_read_here(const char *path, enum allocators_of of, struct allocators *ret,
                         struct err *reterr);
void allocators_done(struct allocators *a);

/* What the function says that tells its version, read from its code; 0: not known. */
uint32_t allocator_version_number(const struct allocator *a, const struct code_file *o);

/* The patch for one of them, in the file as it is mapped. */
int allocator_function_patch(const struct allocator_function *f, enum patch_machine machine,
                             const struct code_file *o, const struct patch_target *to,
                             struct patch *ret, struct err *reterr);
