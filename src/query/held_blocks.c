/* SPDX-License-Identifier: MIT */
/* Blocks that a process has from before the window: kept, or inherited. */
#include <errno.h>

#include "query/block_life.h"
#include "query/query_internal.h"

struct held_blocks {
        query_block_fn fn;
        void *ctx;
};

static bool tell_held(void *ctx, const struct query_life *l) {
        const struct held_blocks *h = ctx;
        struct query_block b = {.time_ns = l->begin_ns,
                                .size_bytes = l->size_bytes,
                                .seq = l->seq,
                                .n_blocks = l->n_blocks,
                                .thread = l->thread,
                                .stack = l->stack,
                                .is_live = l->end_ns == UINT64_MAX};

        return !(l->is_live_at_from || l->is_inherited) || h->fn(h->ctx, &b);
}

int query_held_blocks(struct query *q, const struct query_scope *scope, query_block_fn fn,
                      void *ctx, bool *ret_is_exact, struct err *reterr) {
        struct held_blocks h = {fn, ctx};

        *ret_is_exact = true;
        if (scope->process >= q->view->n_processes)
                return err_set(reterr, -EINVAL, "blocks are held by one process");
        if (scope->from_ns == 0 &&
            q->view->processes[scope->process].start.parent == TRACE_NO_PROCESS)
                return 0;
        return life_scan(q, scope, LIFE_NO_PEAK, tell_held, &h, ret_is_exact, reterr);
}
