/* SPDX-License-Identifier: MIT */
/* Moves of a slice that an edge of the window cuts. Inside query/ only. */
#pragma once

#include "base/vec.h"
#include "query/query.h"

/* A site of the slice: its row, and what of it lies in the window. */
struct moves_site {
        struct trace_move row, counted;
};
typedef VEC(struct moves_site) moves_site_vec; /* sorted by (process, stack) */

/* Counts the part in the window's time. Reads the slice's events, those of earlier slices until each thread's latest allocation is
 * known, and of slices that allocated what was released: max_events beside its own. False: some are
 * missing, and with them what they would have decided. */
bool moves_count_cut(struct query *q, size_t slice_idx, const struct query_scope *window,
                     uint64_t max_events, moves_site_vec *sites);
