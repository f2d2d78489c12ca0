/* SPDX-License-Identifier: MIT */
/* Functions by whose names types and tasks of a graph are told. */
#pragma once

#include "base/vec.h"
#include "reach/heap_graph.h"

enum { HEAP_MAX_FUNCTIONS = 65536 };

typedef VEC(uint64_t) heap_function_list;

/* Their addresses: one of each type's table, what resumes each kind of coroutine, and of sources their tables and callbacks; sorted, each once. */
void heap_functions_find(const struct heap_graph *h, heap_function_list *ret);

/* Of a head without a table: what resumes a coroutine, or destroys one that has ended. */
uint64_t heap_head_function(const struct heap_head *head);
