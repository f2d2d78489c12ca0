/* SPDX-License-Identifier: MIT */
/* SITE, MOVE and SLIC chunks of one slice, for the writer and for the thinner (docs/trace-format.md, "A slice"). */
#pragma once

#include "trace/chunk.h"
#include "trace/model.h"

struct trace_slice_rows {
        uint32_t number, flags; /* TRACE_SLIC_* */
        uint64_t n_events, begin_us, end_us, first_seq, n_allocs, n_unwritten;
        const struct trace_site *sites;
        size_t n_sites;
        const struct trace_counts *counts;
        size_t n_counts;
        const struct trace_move *moves;
        size_t n_moves;
        bool needs_move; /* even without rows: the first of a recording that knows its moves */
};

/* Append the chunk; scratch is cleared and used. SITE: bytes it takes, 0 without rows. */
size_t trace_slice_append_site(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                               const struct trace_slice_rows *s);
void trace_slice_append_move(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                             const struct trace_slice_rows *s);
void trace_slice_append_slic(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                             const struct trace_slice_rows *s);
