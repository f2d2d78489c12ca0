/* SPDX-License-Identifier: MIT */
/* Single allocations in time order, one after the other. Inside query/ only. */
#pragma once

#include "base/vec.h"
#include "query/query.h"

struct pick;

enum { BLOCK_BATCH_SLICES = 32 }; /* at most 8 M blocks, 128 MB */

struct block_release {
        uint64_t time_ns; /* UINT64_MAX: never */
        uint32_t
                process; /* that allocated it: a child's release of an inherited block is not this block's end */
};

/* Where the allocations of one slice are. Between two slices numbers may be missing, as many as a damaged file says. */
struct block_batch_slice {
        uint64_t first_seq;
        size_t first, n; /* in releases */
};

struct block_stream {
        struct query *q;
        struct query_scope scope;
        const struct pick *pick;
        /* the batch of slices at hand: [first, end) */
        size_t first, end;
        struct block_batch_slice
                slices[BLOCK_BATCH_SLICES]; /* those that allocate, first_seq rising */
        size_t n_slices;
        VEC(struct block_release) releases;
        uint64_t n_open; /* not yet released */
        /* the slice of it at hand, which is the one before next_slice */
        size_t next_slice;
        const struct trace_event *events;
        size_t n_events, next_event;
};

/* The stream may be used while nothing else is asked of q, and the scope's filter lives. */
int block_stream_init(struct block_stream *s, struct query *q, const struct query_scope *scope,
                      struct err *reterr);
void block_stream_done(struct block_stream *s);
/* 1, 0 behind the last one, or -errno. */
int block_stream_next(struct block_stream *s, struct query_block *ret, struct err *reterr);
