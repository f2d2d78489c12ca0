/* SPDX-License-Identifier: MIT */
/* Rows of moves, both ways (docs/trace-format.md, "Moves"). */
#pragma once

#include "base/bytes.h"
#include "base/vec.h"
#include "trace/model.h"

typedef VEC(struct trace_move) trace_move_vec;

bool trace_move_is_zero(const struct trace_move *m);
void trace_move_add(struct trace_move *to, const struct trace_move *m); /* figures alone */

/* Appends the rows, sorted; at most one per (process, stack), none of them zero. */
void trace_encode_moves(bytes_buf *out, const struct trace_move *moves, size_t n);

/* Replaces the content of *ret by n rows that take up r exactly; every process must be below n_processes and every
 * stack below n_stacks. 0 or the trace error. */
int trace_decode_moves(struct bytes_reader *r, size_t n, size_t n_processes, size_t n_stacks,
                       trace_move_vec *ret);
