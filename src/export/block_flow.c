/* SPDX-License-Identifier: MIT */
#include "export/block_flow.h"

#include "export/seq_set.h"
#include "query/cursor.h"

struct flow {
        struct query *q;
        flow_fn fn;
        void *ctx;
        uint64_t begin_ns; /* held blocks are there from then on */
        struct seq_set live;
        struct flow_told *told;
        int r;
};

static bool take_held(void *ctx, const struct query_block *b) {
        struct flow *f = ctx;

        seq_set_add(&f->live, b->seq);
        f->told->n_held += b->n_blocks;
        f->r = f->fn(f->ctx, &(struct flow_step){FLOW_HELD, b->stack, b->thread, b->n_blocks,
                                                 f->begin_ns, b->size_bytes, b->seq, 0});
        return f->r >= 0;
}

static int put_alloc(struct flow *f, const struct trace_event *e) {
        seq_set_add(&f->live, e->seq);
        return f->fn(f->ctx, &(struct flow_step){FLOW_ALLOC, e->stack, e->thread, e->n_blocks,
                                                 e->time_ns, e->size_bytes, e->seq, 0});
}

static int put_free(struct flow *f, const struct trace_event *e) {
        struct flow_step s = {FLOW_FREE,  e->stack,      e->thread, e->n_blocks,
                              e->time_ns, e->size_bytes, e->seq,    e->free_stack};

        if (e->op == TRACE_REALLOC) {
                s.stack = e->old_stack;
                s.n_blocks = e->old_n_blocks;
                s.size_bytes = e->old_size_bytes;
                s.seq = e->old_seq;
        }
        if (!seq_set_has(&f->live, s.seq))
                return 0;
        seq_set_remove(&f->live, s.seq);
        return f->fn(f->ctx, &s);
}

static int put_event(struct flow *f, const struct query_event *row) {
        const struct trace_event *e = row->event;
        int r = 0;

        switch ((enum trace_op)e->op) {
        case TRACE_ALLOC: return put_alloc(f, e);
        case TRACE_FREE: return put_free(f, e);
        case TRACE_REALLOC:
                if (row->is_old_selected)
                        r = put_free(f, e);
                return r < 0 || !row->is_selected ? r : put_alloc(f, e);
        case TRACE_OTHER: return e->other == TRACE_IMPLICIT_FREE ? put_free(f, e) : 0;
        }
        return 0;
}

int block_flow(struct query *q, const struct query_scope *scope, flow_fn fn, void *ctx,
               struct flow_told *ret, struct err *reterr) {
        const struct trace_view *v = query_view(q);
        struct flow f = {.q = q, .fn = fn, .ctx = ctx, .told = ret};
        _cleanup_(query_cursor_freep) struct query_cursor *c = NULL;
        const struct query_row *row;
        int r;

        *ret = (struct flow_told){0};
        f.begin_ns = MAX(scope->from_ns, v->processes[scope->process].start.start_ns);
        r = query_held_blocks(q, scope, take_held, &f, &ret->is_exact, reterr);
        if (r >= 0)
                r = f.r;
        if (r >= 0)
                r = query_cursor_open(q, scope, QUERY_ROWS_EVENTS, &c, reterr);
        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0)
                r = put_event(&f, &row->event);
        if (c)
                ret->is_exact &= query_cursor_is_exact(c);
        seq_set_done(&f.live);
        return MIN(r, 0);
}
