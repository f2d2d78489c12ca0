/* SPDX-License-Identifier: MIT */
/* The functions a module's symbol tables know, by address, and its PLT stubs. Inside symbol/
 * only. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct function {
        uint64_t begin, end; /* end == begin: the table gives no size */
        uint64_t reach;      /* highest end of all functions up to this one */
        const char *name;    /* linker name, owned by the module */
        uint8_t rank;        /* of several names for one address the highest is shown */
        bool is_local;       /* known in its own object only */
        bool is_plt;         /* a stub that jumps to the function of that name */
        bool is_resolver;    /* says which function has that name (STT_GNU_IFUNC) */
};

/* A section or segment of code: a symbol says nothing about addresses in another. */
struct functions_code {
        uint64_t begin, end;
};

struct functions {
        VEC(struct function) by_begin;
        VEC(struct functions_code) code; /* empty: unknown */
        bool has_symtab;                 /* not only exported functions */
        size_t n_rust, n_cxx;            /* names mangled so */
};

void functions_load(struct functions *f, Dwfl_Module *module);
/* Those that a file exports alone, by its own addresses; the names live as long as elf does. NULL ok. */
void functions_load_exported(struct functions *f, Elf *elf);
void functions_done(struct functions *f);

/* The function at the address; *ret_guess when it is only the nearest one below. NULL: none. */
const struct function *functions_find(const struct functions *f, uint64_t address, bool *ret_guess);

/* Whether code may lie there: it does if nobody knows where code lies. */
bool functions_is_code(const struct functions *f, uint64_t address);

/* No code lies below. */
uint64_t functions_code_begin(const struct functions *f);

/* Where a signal handler returns to: nothing called it, so a frame there is at its very begin and the
 * byte before belongs to another function. NULL: the address is not right before such a one. */
const struct function *functions_find_trampoline(const struct functions *f, uint64_t address);

/* How many names begin where this one does: compilers merge functions whose code is the same. */
size_t functions_n_names(const struct functions *f, const struct function *at);
