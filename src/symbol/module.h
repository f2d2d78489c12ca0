/* SPDX-License-Identifier: MIT */
/* One file of code, opened through libdwfl: its functions, lines and inlined functions.
 * Inside symbol/ only. */
#pragma once

#include <elfutils/libdwfl.h>

#include "base/err.h"
#include "base/macros.h"
#include "symbol/functions.h"
#include "trace/model.h"

struct symbol_module {
        Dwfl *dwfl;
        Dwfl_Module *module;
        struct functions functions;
};

/* -ENOENT: neither the file nor a debug file of its build-id is there; -ESTALE: it has another
 * build-id. */
int symbol_module_open(const struct trace_module *m, struct symbol_module **ret,
                       struct err *reterr);
struct symbol_module *symbol_module_free(struct symbol_module *m); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct symbol_module, symbol_module_free)

/* Names for addresses (the file's own, sorted): calls fn for each function inlined there,
 * innermost first, and last for the function itself. symbol->location is address_idx. Strings
 * live until fn returns. */
typedef void (*symbol_fn)(void *ctx, const struct trace_symbol *symbol);
void symbol_module_name(struct symbol_module *m, const uint64_t *addresses, size_t n, symbol_fn fn,
                        void *ctx);
