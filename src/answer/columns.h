/* SPDX-License-Identifier: MIT */
/* What a page in one file knows of a recording: its time cut into columns, and of each call path what happened in each.
 *
 * Edges of columns are ends of slices, so that every figure is history's own; of a short recording they are equally far apart. A window that begins and ends at edges is then
 * answered exactly by adding up:
 *   allocated, count, temporary   sums over its columns
 *   end, growth                   what was live at its last edge, less what was at its first
 *   peak                          of the column whose peak was highest, what was live then
 * A page does this in the browser (web/api/file.ts); columns_add_up does it here, for tests.
 * Of time (scope.of_time) there are sums alone: nanoseconds are alloc_bytes, samples n_allocs, as in query/spent_time.h. Edges are the same
 * for all that a recording has. Samples whose times are not known any more may lie on both sides of an edge: then windows are about right, and the whole is.
 *
 * Inside answer/ only. Memory is n_paths call paths beside the largest answer. The call paths beyond are one row: what they have together is kept. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "query/query.h"

enum { COLUMNS_N_COLUMNS = 120 };

/* What one call path did in one column; without one, nothing happened and what was live stayed. */
struct columns_cell {
        uint32_t path, column; /* path: index into paths; paths.n: the smaller ones together */
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes, n_temporary, n_reallocs;
        int64_t peak_bytes, peak_blocks; /* live when the column's live bytes were highest */
        int64_t end_bytes, end_blocks;   /* at its end */
        double var;                      /* of CPU time: the square of its standard error */
};

/* Call paths that are one to readers: the stack that stands for all of them. */
typedef uint32_t (*columns_alike_fn)(void *ctx, uint32_t stack);

struct columns {
        struct query_scope scope; /* all of a recording, of one process or of all */
        size_t n_columns;
        VEC(uint64_t) edges_ns;          /* n_columns + 1; the last: UINT64_MAX */
        VEC(struct query_totals) totals; /* n_columns, each of its own window */
        VEC(uint32_t) paths; /* stacks; largest first, by the most they have of any metric */
        size_t n_smaller;    /* call paths that are told together */
        VEC(struct columns_cell) cells; /* by column, then by path */
        bool is_exact;
};

struct columns_options {
        size_t n_columns, n_paths; /* at most */
        columns_alike_fn alike;    /* NULL: each stack is a call path of its own */
        void *ctx;
};

/* All of the recording is told, whatever the window of the scope; its ends are edges, too. */
int columns_make(struct columns *c, struct query *q, const struct query_scope *scope,
                 const struct columns_options *o, struct err *reterr);
void columns_done(struct columns *c); /* also after a failure */

/* The figures of one path (paths.n: of the smaller ones) in the columns [from, to). */
struct query_figures columns_add_up(const struct columns *c, uint32_t path, size_t from, size_t to);
/* The column of [from, to) whose peak is highest; the first of several. */
size_t columns_peak(const struct columns *c, size_t from, size_t to);

/* "edges_s", "totals", "paths" (the stack of each), "smaller_paths", "exact" and "cells": an array for each figure. */
void columns_put(struct json *j, const struct columns *c, uint64_t end_ns);
/* Of time: the same without "edges_s". */
void columns_put_time(struct json *j, const struct columns *c);
