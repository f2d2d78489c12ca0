/* SPDX-License-Identifier: MIT */
/* One file of code, opened through libdwfl: its functions, lines and inlined functions, and a
 * sentence about how much of that there is. docs/symbols.md lists where it looks. */
#pragma once

#include <elfutils/libdwfl.h>

#include "base/macros.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"
#include "trace/model.h"

/* How a module's names were found, as trace_module_names wants it. */
struct symbol_origin {
        enum trace_naming naming;
        char file[4096]; /* the separate debug file the names came from; "" none */
        char text[480];  /* what is missing, why, and what to do about it; "" all is well */
};

struct symbol_module;

/* search may be NULL. *ret_origin says why it failed. -ENOENT: neither the file nor a debug file
 * of its build-id is there; -ESTALE: it has another build-id; -ENOEXEC: not an ELF file. */
int symbol_module_open(const struct trace_module *m, const struct symbol_search *search,
                       struct symbol_module **ret, struct symbol_origin *ret_origin);
struct symbol_module *symbol_module_free(struct symbol_module *m); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct symbol_module, symbol_module_free)

/* Names for addresses (the file's own, sorted): calls fn for each function inlined there,
 * innermost first, and last for the function itself. symbol->location is address_idx. Strings
 * live until fn returns. */
typedef void (*symbol_fn)(void *ctx, const struct trace_symbol *symbol);
void symbol_module_name(struct symbol_module *m, const uint64_t *addresses, size_t n, symbol_fn fn,
                        void *ctx);

/* What was found for the addresses named so far. */
void symbol_module_origin(const struct symbol_module *m, struct symbol_origin *ret);

const struct functions *symbol_module_functions(const struct symbol_module *m);
