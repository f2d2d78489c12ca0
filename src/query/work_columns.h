/* SPDX-License-Identifier: MIT */
/* A window cut into parts of equal work, by allocations made: a program's own clock, which stands still while nobody asks anything
 * of it. Inside query/ only. */
#pragma once

#include "query/query.h"

/* Where each of n_columns parts ends: rising or equal, the last one the window's end. Exact where slices that hold several ends
 * have no more than max_events together; else work is taken to be even within a slice. Of all processes together. */
void work_column_ends(struct query *q, const struct query_scope *scope, size_t n_columns,
                      uint64_t max_events, uint64_t *ret_ends_ns);
