/* SPDX-License-Identifier: MIT */
/* The events of one process as operations to be carried out again. Inside replay/ only. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "query/query.h"
#include "replay/op_stream.h"

/* What a first pass over the events finds out. */
struct recorded_ops {
        struct query *q;
        uint32_t process;
        uint64_t begin_ns, duration_us;
        uint64_t n_allocs, n_frees, n_reallocs;
        uint64_t live_bytes, live_blocks, peak_live_bytes, peak_live_blocks, peak_ns;
        uint64_t n_inherited, inherited_bytes; /* blocks allocated first, before all events */
        uint64_t n_skipped_frees; /* of blocks that nobody saw allocated: they are left out */
        uint32_t n_threads;       /* that have operations */
        uint32_t n_slots;
        /* allocated in blocks of TRACE_LARGE_BLOCK_BYTES and more: of call paths whose pages were looked at, and what of it is touched;
         * of others, which are touched wholly */
        uint64_t looked_bytes, touched_bytes, unlooked_bytes;
        bool is_exact;          /* false: some events could not be read */
        VEC(uint64_t) last_ops; /* by thread of the trace: its last operation, from 1 on */
        struct map touched;     /* stack → of 65536 parts, those touched */
        VEC(struct query_block) inherited; /* by seq */
};

/* Refuses recordings without events, with the reason. Also fills what recorded_ops_done frees after a failure. */
int recorded_ops_scan(struct recorded_ops *o, struct query *q, uint32_t process,
                      struct err *reterr);
void recorded_ops_done(struct recorded_ops *o);

/* Operations in order, as an op stream has them, but for its begin and its end. fn: 0, or -errno to stop. */
typedef int (*recorded_op_fn)(void *ctx, const struct op *op);
int recorded_ops_each(struct recorded_ops *o, recorded_op_fn fn, void *ctx, struct err *reterr);
