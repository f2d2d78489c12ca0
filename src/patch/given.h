/* SPDX-License-Identifier: MIT */
/* Functions that somebody says are an allocator's, for programs whose names are gone: ROLE=[LIB:]ADDRESS or ROLE=[LIB:]NAME. */
#pragma once

#include <sys/stat.h>

#include "base/err.h"
#include "patch/allocator.h"

enum { GIVEN_MAX = 32 };

struct given_function {
        dev_t dev; /* the file it is in */
        ino_t ino;
        struct allocator_function function;
};

struct given {
        struct given_function list[GIVEN_MAX];
        size_t n;
};

/* Checks one against the file it is in: `program`, unless it names another. 0; -EINVAL and more: it cannot be, and why. */
int given_add(struct given *g, const char *text, const char *program, struct err *reterr);

/* Adds those of a file to the allocators that were found in it; theirs is one more. g may be NULL. */
void given_join(const struct given *g, const struct stat *st, struct allocators *a);
