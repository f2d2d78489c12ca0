/* SPDX-License-Identifier: MIT */
/* Slices added up to one: those that could not be written (disk full), and those that are merged to keep
 * the file within its bound. Memory is bounded by the number of sites, however many there are, and totals stay exact. */
#pragma once

#include "base/map.h"
#include "trace/moves_codec.h"
#include "trace/rows.h"

struct trace_backlog {
        uint64_t n_slices, n_events, n_allocs, n_unwritten;
        uint64_t begin_us, end_us, first_seq;
        trace_site_vec sites;
        trace_counts_vec counts;
        trace_move_vec moves;
        struct map site_by_key, counts_by_process, move_by_key; /* to places in the three */
};

void trace_backlog_clear(struct trace_backlog *b);
void trace_backlog_done(struct trace_backlog *b);

/* Adds the rows of the slice that follows those already in it. Times, events and sequence
 * numbers are the caller's. */
void trace_backlog_add(struct trace_backlog *b, const struct trace_site *sites, size_t n_sites,
                       const struct trace_counts *counts, size_t n_counts);
void trace_backlog_add_moves(struct trace_backlog *b, const struct trace_move *moves, size_t n);
