/* SPDX-License-Identifier: MIT */
/* Which blocks are of one type: those whose tables of functions are one, or of one class. Inside reach/ only. */
#pragma once

#include "reach/heap_graph.h"
#include "reach/memory_scan.h"

/* Fills types (a row for each function of a table that is neither a class's nor a `dyn`'s: the blocks have the first), n_types and type_of of a graph whose blocks are those of `tables`, each an address or 0. 0 or -ENOMEM. */
int block_types_find(const struct reach_memory *m, const uint64_t *tables, struct heap_graph *ret);
