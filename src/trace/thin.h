/* SPDX-License-Identifier: MIT */
/* Copies a trace that goes on being written into a smaller file, a little at a time (docs/trace-format.md,
 * "A bounded file"): definitions, then history with old slices merged, then the slices that keep their events, then what was
 * appended meanwhile. The source is only read. */
#pragma once

#include "base/bytes.h"

struct trace_thin;

/* The trace in from_fd, of which `entries` are the index entries so far and `moments` ends of slices that are to stay such,
 * as long as there is room for it (rising). The copy goes to to_fd and is to be of about
 * target_bytes; it is to be done when about growth_bytes were appended meanwhile. 0 or -errno. */
int trace_thin_new(int from_fd, const bytes_buf *entries, int to_fd, uint64_t target_bytes,
                   uint64_t growth_bytes, const uint64_t *moments, size_t n_moments,
                   struct trace_thin **ret);
struct trace_thin *trace_thin_free(struct trace_thin *t); /* NULL ok */

/* Goes on. appended_bytes: what the source has grown by since the last call; entries: all of its index. 1 when the
 * copy has everything, 0 when there is more to do, -errno when it failed. */
int trace_thin_step(struct trace_thin *t, const bytes_buf *entries, uint64_t appended_bytes);

/* The copy so far. */
uint64_t trace_thin_size_bytes(const struct trace_thin *t);
uint32_t trace_thin_n_slices(const struct trace_thin *t);

/* Its index entries, handed over. */
void trace_thin_take_index(struct trace_thin *t, bytes_buf *ret_entries, uint32_t *ret_n);
