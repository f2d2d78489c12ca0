/* SPDX-License-Identifier: MIT */
/* What was found for files with a build-id, kept for the next time: docs/symbols.md, "The cache". Inside
 * symbol/ only.
 *  - an answer from it is the one a fresh look would give: it is bound to this very silt, to where it was told to
 *    look, and to all files it rests on (sources.h)
 *  - its contents are hostile: an entry is a small trace, read by the same reader, or it counts as missing
 *  - written whole or not at all, by any number of processes at once; bounded in size, the least recently used
 *    goes first
 *  - without a directory that is the user's own there is none, and nothing is said of it
 *
 * Call order: open → (answer, or entry_new → entry_add … → entry_store → entry_free) for each module → close. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/module.h"
#include "symbol/symbol.h"

struct symbol_cache;
struct cache_entry;

/* NULL: turned off, or there is no place for it. */
struct symbol_cache *symbol_cache_open(const struct symbol_search *search);
/* Removes what is too much, when something was added. NULL ok. */
void symbol_cache_close(struct symbol_cache *c);

/* True when all of the addresses (sorted) were answered: fn was called as by symbol_module_name. */
bool cache_answer(struct symbol_cache *c, const struct trace_module *m, const uint64_t *addresses,
                  size_t n, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin);

/* Begins to note what is found for a module, and where was looked for it. NULL: not to be kept. */
struct cache_entry *cache_entry_new(struct symbol_cache *c, const struct trace_module *m,
                                    const uint64_t *addresses, size_t n);
void cache_entry_add(struct cache_entry *e, const struct trace_symbol *s);
/* Writes it, unless a later look could find more without any file changing. */
void cache_entry_store(struct cache_entry *e, const struct symbol_origin *origin);
struct cache_entry *cache_entry_free(struct cache_entry *e); /* NULL ok; returns NULL */
