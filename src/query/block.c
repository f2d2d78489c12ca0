/* SPDX-License-Identifier: MIT */
/* Single allocations in time order, with their ages. Sequence numbers count the allocations of a slice without
 * gap, so the releases of a batch of blocks fit an array: one pass over the events from the batch on fills it, a second
 * over the batch tells the blocks. */
#include "query/block.h"

#include "query/pick.h"
#include "query/query_internal.h"

/* NULL: the block is older or newer than the batch. */
static struct block_release *batch_find(const struct block_stream *b, uint64_t seq) {
        size_t low = 0, high = b->n_slices;
        const struct block_batch_slice *s;

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

static void batch_release(struct block_stream *b, const struct trace_event *e, uint64_t seq) {
        struct block_release *r = batch_find(b, seq);

        if (!r || r->time_ns != UINT64_MAX || r->process != query_event_process(b->q, e))
                return;
        r->time_ns = e->time_ns;
        b->n_open--;
}

static void batch_add(struct block_stream *b, const struct trace_event *e, bool is_first) {
        if (is_first)
                b->slices[b->n_slices++] = (struct block_batch_slice){e->seq, b->releases.n, 0};
        b->slices[b->n_slices - 1].n++;
        vec_push(&b->releases, (struct block_release){UINT64_MAX, query_event_process(b->q, e)});
        b->n_open++;
}

/* The number of allocations. */
static size_t batch_see(struct block_stream *b, const struct trace_event *e, bool in_batch,
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

static void batch_fill(struct block_stream *b) {
        vec_clear(&b->releases);
        b->n_open = 0;
        b->n_slices = 0;
        for (size_t i = b->first; i < b->q->view->n_slices && (i < b->end || b->n_open > 0); i++) {
                const struct trace_event *events;
                size_t n, n_allocs = 0;

                query_read_events(b->q, i, &events, &n);
                for (size_t k = 0; k < n; k++)
                        n_allocs += batch_see(b, &events[k], i < b->end, n_allocs);
                if (!query_go_on(b->q, i + 1, b->q->view->n_slices))
                        break;
        }
}

static struct query_block block_of(const struct block_stream *b, const struct trace_event *e,
                                   uint32_t process) {
        const struct block_release *r = batch_find(b, e->seq);
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

static bool is_picked(const struct block_stream *b, const struct query_block *block,
                      uint32_t process) {
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

/* An allocation in the scope that the filter selects. */
static bool block_is_told(const struct block_stream *b, const struct trace_event *e,
                          struct query_block *ret) {
        uint32_t process = query_event_process(b->q, e);

        if ((e->op != TRACE_ALLOC && e->op != TRACE_REALLOC) || e->time_ns < b->scope.from_ns)
                return false;
        if (process >= b->q->view->n_processes ||
            (b->scope.process != QUERY_ALL && process != b->scope.process))
                return false;
        *ret = block_of(b, e, process);
        return is_picked(b, ret, process);
}

static bool begins_in_scope(const struct block_stream *b, size_t slice_idx) {
        return slice_idx < b->q->view->n_slices &&
               trace_slice(b->q->reader, slice_idx)->begin_ns < b->scope.to_ns;
}

/* The next slice of the batch, or of the next one; false: there is none, or it was told to stop. */
static bool stream_load_slice(struct block_stream *b) {
        if (b->next_slice == b->end) {
                b->first = b->end;
                while (b->end - b->first < BLOCK_BATCH_SLICES && begins_in_scope(b, b->end))
                        b->end++;
                if (b->first == b->end)
                        return false;
                batch_fill(b);
                if (b->q->stopped) {
                        b->end = b->first; /* whoever asks again begins this batch again */
                        return false;
                }
        }
        query_read_events(b->q, b->next_slice++, &b->events, &b->n_events);
        b->next_event = 0;
        return query_go_on(b->q, b->next_slice, b->q->view->n_slices);
}

int block_stream_init(struct block_stream *s, struct query *q, const struct query_scope *scope,
                      struct err *reterr) {
        int r;

        *s = (struct block_stream){.q = q, .scope = *scope};
        r = pick_get(q, scope->filter, &s->pick, reterr);
        if (r < 0)
                return r;
        s->end = query_slice_at(q, scope->from_ns);
        /* what was dropped may be billions of blocks */
        while (s->end < q->view->n_slices && trace_slice(q->reader, s->end)->is_dropped)
                s->end++;
        s->next_slice = s->end;
        return 0;
}

void block_stream_done(struct block_stream *s) {
        vec_free(&s->releases);
}

int block_stream_next(struct block_stream *s, struct query_block *ret, struct err *reterr) {
        for (;;) {
                while (s->next_event < s->n_events &&
                       s->events[s->next_event].time_ns < s->scope.to_ns)
                        if (block_is_told(s, &s->events[s->next_event++], ret))
                                return 1;
                if (!stream_load_slice(s))
                        return query_end(s->q, reterr);
        }
}

int query_blocks(struct query *q, const struct query_scope *scope, query_block_fn fn, void *ctx,
                 struct err *reterr) {
        struct block_stream s;
        struct query_block b;
        int r = block_stream_init(&s, q, scope, reterr);

        while (r >= 0 && (r = block_stream_next(&s, &b, reterr)) > 0)
                if (!fn(ctx, &b))
                        break;
        block_stream_done(&s);
        return MIN(r, 0);
}
