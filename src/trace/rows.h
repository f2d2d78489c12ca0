/* SPDX-License-Identifier: MIT */
/* Rows of sites and of counts, both ways (docs/trace-format.md, "A slice"). */
#pragma once

#include "base/bytes.h"
#include "base/vec.h"
#include "trace/chunk.h"
#include "trace/model.h"

typedef VEC(struct trace_site) trace_site_vec;
typedef VEC(struct trace_counts) trace_counts_vec;

/* Adds what happened. What was live, and when most was, stays: sums of it mean nothing. */
static inline void trace_counts_add(struct trace_counts *to, const struct trace_counts *c) {
        to->n_allocs += c->n_allocs;
        to->n_frees += c->n_frees;
        to->n_reallocs += c->n_reallocs;
        to->n_failed += c->n_failed;
        to->n_unknown_frees += c->n_unknown_frees;
        to->n_prior_frees += c->n_prior_frees;
        to->n_implicit_frees += c->n_implicit_frees;
        to->alloc_bytes += c->alloc_bytes;
        to->n_temporary += c->n_temporary;
        to->n_lost += c->n_lost;
        to->n_wrong_sizes += c->n_wrong_sizes;
        to->n_complete_stacks += c->n_complete_stacks;
        to->n_inversions += c->n_inversions;
}

/* Appends the rows, sorted; at most one row per (process, stack) and per process. */
void trace_encode_sites(bytes_buf *out, const struct trace_site *sites, size_t n,
                        struct trace_cuts *ret_cuts);
/* Of a chunk with these rows. */
uint8_t trace_sites_version(const struct trace_site *sites, size_t n);
void trace_encode_counts(bytes_buf *out, const struct trace_counts *counts, size_t n);

/* Replace the content of *ret by n rows that take up r exactly (counts: as far as they go);
 * every process must be below n_processes and every stack below n_stacks. 0 or the trace error. */
int trace_decode_sites(struct bytes_reader *r, uint8_t version, size_t n, size_t n_processes,
                       size_t n_stacks, trace_site_vec *ret);
int trace_decode_counts(struct bytes_reader *r, size_t n, size_t n_processes,
                        trace_counts_vec *ret);
