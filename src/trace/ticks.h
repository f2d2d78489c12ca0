/* SPDX-License-Identifier: MIT */
/* Rows of TICK chunks, both ways, and several chunks merged to one (docs/trace-format.md, "TICK"). */
#pragma once

#include "base/bytes.h"
#include "trace/chunk.h"
#include "trace/model.h"

typedef VEC(struct trace_tick) trace_tick_vec;

enum { TRACE_MAX_SPAN_TICKS = 65536 };

/* Appends chunks of all rows, in the order of their times, and empties them. is_merged: of a time from begin_us to end_us that is no
 * longer told apart, all rows at its begin; else both are ignored. */
void trace_append_ticks(struct trace_packer *p, bytes_buf *out, trace_tick_vec *rows,
                        bool is_merged, uint64_t begin_us, uint64_t end_us);

/* False: its head is not one. */
bool trace_tick_span_of(const struct trace_chunk *c, struct trace_tick_span *ret);

/* Replaces the content of *ret; threads and stacks must be below the two bounds. 0 or the trace error. */
int trace_decode_ticks(const struct trace_body *b, const struct trace_tick_span *span,
                       size_t n_threads, size_t n_stacks, trace_tick_vec *ret);

/* Ticks of one thread, state and call path become one. */
void trace_merge_ticks(trace_tick_vec *rows, uint64_t begin_us);
