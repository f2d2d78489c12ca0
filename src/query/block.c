/* SPDX-License-Identifier: MIT */
/* Single allocations in time order, with their ages. Sequence numbers count the allocations of a slice without
 * gap, so the releases of a batch of blocks fit an array: one pass over the events from the batch on fills it, a second
 * over the batch tells the blocks. */
#include "query/pick.h"
#include "query/query_internal.h"

enum { BLOCK_BATCH_SLICES = 32 }; /* at most 8 M blocks, 128 MB */

struct release {
        uint64_t time_ns; /* UINT64_MAX: never */
        uint32_t
                process; /* that allocated it: a child's release of an inherited block is not this block's end */
};

/* Where the allocations of one slice are. Between two slices numbers may be missing, as many as a damaged file says. */
struct batch_slice {
        uint64_t first_seq;
        size_t first, n; /* in releases */
};

struct batch {
        struct query *q;
        const struct query_scope *scope;
        const struct pick *pick;
        size_t first, end;                             /* slices */
        struct batch_slice slices[BLOCK_BATCH_SLICES]; /* those that allocate, first_seq rising */
        size_t n_slices;
        VEC(struct release) releases;
        uint64_t n_open; /* not yet released */
};

/* NULL: the block is older or newer than the batch. */
static struct release *batch_find(const struct batch *b, uint64_t seq) {
        size_t low = 0, high = b->n_slices;
        const struct batch_slice *s;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (b->slices[mid].first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        if (low == 0)
                return NULL;
        s = &b->slices[low - 1];
        return seq - s->first_seq < s->n ? &b->releases.items[s->first + (seq - s->first_seq)]
                                         : NULL;
}

static void batch_release(struct batch *b, const struct trace_event *e, uint64_t seq) {
        struct release *r = batch_find(b, seq);

        if (!r || r->time_ns != UINT64_MAX || r->process != query_event_process(b->q, e))
                return;
        r->time_ns = e->time_ns;
        b->n_open--;
}

static void batch_add(struct batch *b, const struct trace_event *e, bool is_first) {
        if (is_first)
                b->slices[b->n_slices++] = (struct batch_slice){e->seq, b->releases.n, 0};
        b->slices[b->n_slices - 1].n++;
        vec_push(&b->releases, (struct release){UINT64_MAX, query_event_process(b->q, e)});
        b->n_open++;
}

/* The number of allocations. */
static size_t batch_see(struct batch *b, const struct trace_event *e, bool in_batch,
                        size_t n_before) {
        if (e->op == TRACE_FREE || (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                batch_release(b, e, e->seq);
        if (e->op == TRACE_REALLOC)
                batch_release(b, e, e->old_seq);
        if (e->op != TRACE_ALLOC && e->op != TRACE_REALLOC)
                return 0;
        if (in_batch)
                batch_add(b, e, n_before == 0);
        return 1;
}

static void batch_fill(struct batch *b) {
        vec_clear(&b->releases);
        b->n_open = 0;
        b->n_slices = 0;
        for (size_t i = b->first; i < b->q->view->n_slices && (i < b->end || b->n_open > 0); i++) {
                const struct trace_event *events;
                size_t n, n_allocs = 0;

                query_read_events(b->q, i, &events, &n);
                for (size_t k = 0; k < n; k++)
                        n_allocs += batch_see(b, &events[k], i < b->end, n_allocs);
                query_tell_progress(b->q, i + 1, b->q->view->n_slices);
        }
}

static struct query_block block_of(const struct batch *b, const struct trace_event *e,
                                   uint32_t process) {
        const struct release *r = batch_find(b, e->seq);
        uint64_t end_ns = MIN(query_process_end_ns(b->q, process), b->q->view->end_ns);
        struct query_block block = {.time_ns = e->time_ns,
                                    .size_bytes = e->size_bytes,
                                    .n_blocks = e->n_blocks,
                                    .seq = e->seq,
                                    .address = e->address,
                                    .thread = e->thread,
                                    .stack = e->stack};

        block.is_live = !r || r->time_ns == UINT64_MAX;
        end_ns = block.is_live ? end_ns : r->time_ns;
        block.age_ns = end_ns > e->time_ns ? end_ns - e->time_ns : 0;
        return block;
}

static bool is_picked(const struct batch *b, const struct query_block *block, uint32_t process) {
        uint64_t last_ns = block->time_ns + block->age_ns;
        struct query_life l = {.process = process,
                               .stack = block->stack,
                               .thread = block->thread,
                               .size_bytes = block->size_bytes,
                               .begin_ns = block->time_ns,
                               .end_ns = block->is_live ? UINT64_MAX : last_ns,
                               .last_ns = last_ns};

        return pick_has_block(b->pick, &l);
}

/* False when the caller has had enough. */
static bool batch_tell_slice(struct batch *b, size_t slice_idx, query_block_fn fn, void *ctx) {
        const struct trace_event *events;
        size_t n;

        query_read_events(b->q, slice_idx, &events, &n);
        for (size_t i = 0; i < n && events[i].time_ns < b->scope->to_ns; i++) {
                const struct trace_event *e = &events[i];
                uint32_t process = query_event_process(b->q, e);
                struct query_block block;

                if ((e->op != TRACE_ALLOC && e->op != TRACE_REALLOC) ||
                    e->time_ns < b->scope->from_ns)
                        continue;
                if (process >= b->q->view->n_processes ||
                    (b->scope->process != QUERY_ALL && process != b->scope->process))
                        continue;
                block = block_of(b, e, process);
                if (is_picked(b, &block, process) && !fn(ctx, &block))
                        return false;
        }
        return true;
}

int query_blocks(struct query *q, const struct query_scope *scope, query_block_fn fn, void *ctx,
                 struct err *reterr) {
        struct batch b = {.q = q, .scope = scope, .end = query_slice_at(q, scope->from_ns)};
        bool more = true;
        int r = pick_get(q, scope->filter, &b.pick, reterr);

        if (r < 0)
                return r;
        /* what was dropped may be billions of blocks */
        while (b.end < q->view->n_slices && trace_slice(q->reader, b.end)->is_dropped)
                b.end++;
        while (more && b.end < q->view->n_slices &&
               trace_slice(q->reader, b.end)->begin_ns < scope->to_ns) {
                b.first = b.end;
                while (b.end < q->view->n_slices && b.end - b.first < BLOCK_BATCH_SLICES &&
                       trace_slice(q->reader, b.end)->begin_ns < scope->to_ns)
                        b.end++;
                batch_fill(&b);
                for (size_t i = b.first; i < b.end && more; i++)
                        more = batch_tell_slice(&b, i, fn, ctx);
        }
        vec_free(&b.releases);
        return 0;
}
