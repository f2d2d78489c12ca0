/* SPDX-License-Identifier: MIT */
/* What of a program's own allocators could be hooked, without running it. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "patch/imprint.h"
#include "patch/known_files.h"
#include "patch/patch.h"

struct survey_allocator {
        const char *name; /* "jemalloc" */
        char version[16]; /* "5.3.0"; "" not known */
        char prefix[32];  /* of its functions' names */
        uint32_t n_hookable, n_refused;
        char why[160];    /* the first that is refused, and the reason; "" none */
        bool is_nameless; /* its messages are in the file, the names of its functions are not */
        bool is_exported_only; /* only what C has, as exported; its other functions are nameless */
};

struct survey {
        VEC(struct survey_allocator) allocators;
        bool has_symbol_table; /* without one, what is inside cannot be told by name */
        struct imprint imprint;
};

/* machine: ELF e_machine. */
int survey_make(const char *path, uint32_t machine, struct survey *ret, struct err *reterr);

/* The same in two steps: the file is read, in a process of its own, while the caller does other things. loader: another file
 * that is read for what the plan of a process wants of it; "" none. With is_spare, the imprint of a program that has symbols is
 * left out. */
struct survey_work;
struct survey_work *survey_begin(const char *path, const char *loader, bool is_spare);
/* Frees. memory: what was read is kept there; NULL: nowhere. */
int survey_end(struct survey_work *w, uint32_t machine, struct known_files *memory,
               struct survey *ret, struct err *reterr);
void survey_done(struct survey *s);
