/* SPDX-License-Identifier: MIT */
/* Names for the locations of a trace: functions, files, lines and inlined functions, looked up
 * in the files the trace names (symbol tables, DWARF, separate debug files) and stored in the
 * trace itself, with a word for each module on how that went (docs/symbols.md).
 *  - only locations that occur are looked up
 *  - a file that is no longer the one that ran (its build-id differs) names nothing
 *  - the looking up runs in processes of their own with limits on time and memory: when one crashes or
 *    blows up on a module, that module stays unnamed and the others get their names
 *  - what was found for a file with a build-id is kept for the next time (cache.h) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "trace/model.h"
#include "trace/reader.h"

struct symbol_limits {
        uint64_t memory_bytes; /* of each process that looks up, beyond what it begins with */
        uint64_t time_ns;      /* for all modules together */
};
#define SYMBOL_LIMITS_DEFAULT ((struct symbol_limits){4ull << 30, 120ull * 1000000000})

/* Where to look for files besides the places that are usual on this machine. */
struct symbol_search {
        const char *const
                *debug_paths; /* --debug-path: as /usr/lib/debug, or with the files in it */
        size_t n_debug_paths;
        const char *sysroot; /* --sysroot: in front of every path of the trace; NULL none */
        bool functions_only; /* what symbol tables know: no debug information is inflated for it */
};

struct symbol_options {
        struct symbol_limits limits;
        struct symbol_search search;
        bool no_cache;
        unsigned n_workers; /* processes at once; 0: as many as pay */
};
#define SYMBOL_OPTIONS_DEFAULT ((struct symbol_options){.limits = SYMBOL_LIMITS_DEFAULT})

/* Looks up every location of the finished trace and puts the names into it. 0, also when
 * nothing was found; -errno when the trace cannot be read or written. */
int symbol_append(const char *trace_path, struct err *reterr);
/* The same; returns how many modules kept the names the trace had, since fewer were found now. */
int symbol_append_with(const char *trace_path, const struct symbol_options *options,
                       struct err *reterr);

/* The same without touching the trace. */
struct symbol_table {
        struct trace_symbol *symbols; /* by location, innermost inlined function first */
        size_t n_symbols;
        struct trace_module_names *modules; /* by module: those with locations */
        size_t n_modules;
        size_t n_failed_modules; /* crashed, out of memory or out of time */
        size_t n_cached_modules; /* answered from the cache */
        size_t n_kept_modules;   /* have the names the trace had: fewer were found now */
        struct arena *arena;     /* holds the strings */
};

int symbol_lookup(const char *trace_path, const struct symbol_options *options,
                  struct symbol_table **ret, struct err *reterr);
struct symbol_table *symbol_table_free(struct symbol_table *t); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct symbol_table, symbol_table_free)

/* Readable form of a linker name: C++ and Rust demangled, Rust hashes, clone suffixes and symbol
 * versions dropped. Never NULL; to be freed. */
char *symbol_demangle(const char *linker_name);
