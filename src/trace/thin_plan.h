/* SPDX-License-Identifier: MIT */
/* What a smaller copy of a trace keeps (docs/trace-format.md, "A bounded file"): decided from the index alone. */
#pragma once

#include "base/vec.h"
#include "trace/chunk.h"

enum { PLAN_NO_CHUNK = -1 };

/* Where a slice's chunks are in `chunks`, and what they weigh. */
struct plan_slice {
        int32_t site, move, evts, slic, ckpt; /* PLAN_NO_CHUNK: none */
        uint64_t begin_ns, end_ns, n_events;
        bool is_dropped;     /* its events, by an earlier copy */
        bool ends_at_moment; /* that somebody will ask about: not merged with what follows */
        uint64_t row_bytes, evts_bytes, ckpt_bytes; /* in the file */
        uint64_t entry_bytes;                       /* in the index */
};

struct plan {
        VEC(struct trace_chunk) chunks; /* of the file when the plan was made */
        VEC(struct plan_slice) slices;
        size_t first_detail; /* the first slice that keeps its events */
        size_t first_detail_chunk;
        uint64_t now_ns;     /* end of the last slice */
        uint64_t resolution; /* a slice of age a is merged to at most a / resolution */
        uint64_t maps_from;  /* MAPS chunks before this one are dropped */
        uint64_t tick_bytes; /* room for ticks */
        uint64_t work_bytes; /* to be read, those of rows that are merged four times */
};

/* entries: of a file whose copy is to be of about target_bytes, its index of about target_entry_bytes. */
void plan_make(struct plan *p, const bytes_buf *entries, uint64_t target_bytes,
               uint64_t target_entry_bytes, const uint64_t *moments, size_t n_moments);
void plan_done(struct plan *p);

/* The slices [i, end) without detail make one; i < first_detail. */
size_t plan_group_end(const struct plan *p, size_t i);
