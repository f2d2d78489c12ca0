/* SPDX-License-Identifier: MIT */
/* Rows of sites and of counts, both ways (docs/trace-format.md, "A slice"). */
#pragma once

#include "base/bytes.h"
#include "base/vec.h"
#include "trace/model.h"

typedef VEC(struct trace_site) trace_site_vec;
typedef VEC(struct trace_counts) trace_counts_vec;

/* Appends the rows, sorted; at most one row per (process, stack) and per process. */
void trace_encode_sites(bytes_buf *out, const struct trace_site *sites, size_t n);
/* Of a chunk with these rows. */
uint8_t trace_sites_version(const struct trace_site *sites, size_t n);
void trace_encode_counts(bytes_buf *out, const struct trace_counts *counts, size_t n);

/* Replace the content of *ret by n rows that take up r exactly (counts: as far as they go);
 * every process must be below n_processes and every stack below n_stacks. 0 or the trace error. */
int trace_decode_sites(struct bytes_reader *r, uint8_t version, size_t n, size_t n_processes,
                       size_t n_stacks, trace_site_vec *ret);
int trace_decode_counts(struct bytes_reader *r, size_t n, size_t n_processes,
                        trace_counts_vec *ret);
