/* SPDX-License-Identifier: MIT */
/* How the blocks of one process come and go in a window: first those it has from before (alive when the window began, or inherited
 * at its fork), then each allocation and release in the order of time. A reallocation is a release and then an allocation. No
 * release comes without its block. Inside export/ only. */
#pragma once

#include "query/query.h"

enum flow_kind { FLOW_HELD, FLOW_ALLOC, FLOW_FREE };

struct flow_step {
        enum flow_kind kind;
        uint32_t stack;  /* that allocated it */
        uint32_t thread; /* that allocates or releases it; held: that allocated it */
        uint32_t
                n_blocks; /* that it stands for, each of this size: 1, unless the recording is of samples */
        uint64_t time_ns; /* held: of the window's begin, or of the process's */
        uint64_t size_bytes, seq;
        uint32_t free_stack; /* of a release: where, if the recording knows; else 0 */
};

static inline uint64_t flow_bytes(const struct flow_step *s) {
        return s->size_bytes * s->n_blocks;
}

/* 0, or -errno to stop with. */
typedef int (*flow_fn)(void *ctx, const struct flow_step *s);

struct flow_told {
        uint64_t n_held; /* blocks from before */
        bool is_exact;   /* false: events are missing */
};

/* The process of the scope is not QUERY_ALL. Memory: a bit for each allocation of the trace. */
int block_flow(struct query *q, const struct query_scope *scope, flow_fn fn, void *ctx,
               struct flow_told *ret, struct err *reterr);
