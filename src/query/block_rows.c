/* SPDX-License-Identifier: MIT */
#include "query/block_rows.h"

#include <stdlib.h>

#include "query/alive.h"
#include "query/block_life.h"
#include "query/query_internal.h"
#include "query/window_peak.h"

struct query_block_rows {
        struct query *q;
        struct query_block_ask ask;
        struct query_value_range *ranges; /* ask's */
        size_t next_slice;
        const struct trace_event *events; /* of the slice before next_slice */
        size_t n_events, next_event;
        bool is_plain; /* all allocations are asked for */
        bool is_counted; /* by the heads of slices: first_seq and n_events (of which none is read) tell of a slice */
        uint64_t first_seq;
        bool is_exact;
        bool is_over; /* no event is of interest any more */
        /* with the release */
        struct alive live;
        struct alive addresses; /* size_bytes is the address; filled where it is asked for */
        uint64_t *last_seq;     /* thread → number of its latest allocation, plus 1 */
        size_t next_survivor;   /* place in the table of those alive */
};

/* ---- what is asked for ------------------------------------------------------------------------- */

/* What an allocation says itself. */
static bool is_asked_for(const struct query_block_rows *b, const struct trace_event *e) {
        const struct query_value_range *r = b->ranges;
        uint32_t process = query_event_process(b->q, e);

        return query_range_has(&r[QUERY_BLOCK_TIME], e->time_ns) &&
               query_range_has(&r[QUERY_BLOCK_BYTES], e->size_bytes) &&
               query_range_has(&r[QUERY_BLOCK_STACK], e->stack) &&
               query_range_has(&r[QUERY_BLOCK_SEQ], e->seq) &&
               query_range_has(&r[QUERY_BLOCK_THREAD], e->thread) &&
               query_range_has(&r[QUERY_BLOCK_PROCESS], process) &&
               process < b->q->view->n_processes &&
               (b->ask.process == QUERY_ALL || b->ask.process == process);
}

/* What its end says. */
static bool is_end_asked_for(const struct query_block_rows *b, const struct query_block_row *row) {
        return query_range_has(&b->ranges[QUERY_BLOCK_FREED], row->freed_ns) &&
               query_range_has(&b->ranges[QUERY_BLOCK_LIFETIME],
                               query_block_lifetime_ns(b->q, row));
}

uint64_t query_block_lifetime_ns(const struct query *q, const struct query_block_row *row) {
        uint32_t process = q->view->threads[row->thread].start.process;
        uint64_t end_ns = row->freed_ns;

        if (end_ns == UINT64_MAX)
                end_ns = MIN(query_process_end_ns(q, process), q->view->end_ns);
        return end_ns > row->time_ns ? end_ns - row->time_ns : 0;
}

static bool is_for_all(const struct query *q, const struct query_block_ask *ask) {
        for (size_t i = 0; i < QUERY_N_BLOCK_KEYS; i++)
                if (ask->ranges[i].low != 0 || ask->ranges[i].high != UINT64_MAX)
                        return false;
        for (size_t i = 0; i < q->view->n_threads; i++)
                if (q->view->threads[i].start.process >= q->view->n_processes ||
                    (ask->process != QUERY_ALL &&
                     ask->process != q->view->threads[i].start.process))
                        return false;
        return true;
}

/* ---- which slices ------------------------------------------------------------------------------ */

/* From here on no block that is asked for is allocated. */
static bool is_behind(const struct query_block_rows *b, const struct trace_slice_info *s) {
        return s->begin_ns > b->ranges[QUERY_BLOCK_TIME].high ||
               s->first_seq > b->ranges[QUERY_BLOCK_SEQ].high;
}

/* Whoever is released from here on does not match: too late, or too old. */
static bool is_too_late(const struct query_block_rows *b, const struct trace_slice_info *s) {
        uint64_t last_ns = b->ranges[QUERY_BLOCK_TIME].high;

        if (__builtin_add_overflow(last_ns, b->ranges[QUERY_BLOCK_LIFETIME].high, &last_ns))
                last_ns = UINT64_MAX;
        return s->begin_ns > MIN(last_ns, b->ranges[QUERY_BLOCK_FREED].high);
}

/* False: there is none, or it is to stop. */
static bool load_slice(struct query_block_rows *b) {
        const struct trace_slice_info *s = trace_slice(b->q->reader, b->next_slice);

        if (!s || (is_behind(b, s) && (!b->live.n || is_too_late(b, s)))) {
                b->is_over = true;
                return false;
        }
        if (!query_go_on(b->q, b->next_slice, b->q->view->n_slices))
                return false;
        b->next_event = 0;
        if (b->is_counted) {
                b->is_exact &= s->has_events;
                b->first_seq = s->first_seq;
                b->n_events = s->has_events ? s->n_allocs : 0;
                b->next_slice++;
                return true;
        }
        b->is_exact &= (b->ask.with_release ? query_read_events
                                            : query_read_allocs)(b->q, b->next_slice++, &b->events,
                                                                 &b->n_events);
        return true;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static bool is_alloc(const struct trace_event *e) {
        return e->op == TRACE_ALLOC || e->op == TRACE_REALLOC;
}

static size_t fill_counted(struct query_block_rows *b, struct query_block_row *ret, size_t cap) {
        size_t n = MIN(cap, b->n_events - b->next_event);

        for (size_t i = 0; i < n; i++)
                ret[i].seq = b->first_seq + b->next_event++;
        return n;
}

static size_t fill_allocs(struct query_block_rows *b, struct query_block_row *ret, size_t cap) {
        const struct trace_event *e = &b->events[b->next_event], *end = &b->events[b->n_events];
        size_t n = 0;

        for (; e < end && n < cap; e++)
                if (b->is_plain || is_asked_for(b, e))
                        ret[n++] = (struct query_block_row){.seq = e->seq,
                                                            .time_ns = e->time_ns,
                                                            .size_bytes = e->size_bytes,
                                                            .address = e->address,
                                                            .freed_ns = UINT64_MAX,
                                                            .stack = e->stack,
                                                            .thread = e->thread,
                                                            .n_blocks = e->n_blocks,
                                                            .freed_by = TRACE_NO_THREAD,
                                                            .by_realloc = e->op == TRACE_REALLOC};
        b->next_event = (size_t)(e - b->events);
        return n;
}

static struct query_block_row row_of(struct query_block_rows *b, const struct alive_block *a) {
        struct query_block_row row = {.seq = a->seq,
                                      .time_ns = a->begin_ns,
                                      .size_bytes = a->size_bytes,
                                      .freed_ns = UINT64_MAX,
                                      .stack = a->stack,
                                      .thread = a->thread,
                                      .n_blocks = a->n_blocks,
                                      .freed_by = TRACE_NO_THREAD,
                                      .by_realloc = a->by_realloc};
        struct alive_block address;

        if (b->ask.with_address && alive_take(&b->addresses, a->seq, &address))
                row.address = address.size_bytes;
        return row;
}

static void put_alive(struct query_block_rows *b, const struct trace_event *e) {
        struct alive_block a = {.seq = e->seq,
                                .size_bytes = e->size_bytes,
                                .n_blocks = e->n_blocks,
                                .begin_ns = e->time_ns,
                                .stack = e->stack,
                                .thread = e->thread & ALIVE_MAX_THREAD,
                                .by_realloc = e->op == TRACE_REALLOC};

        b->last_seq[e->thread] = e->seq + 1;
        if (e->thread > ALIVE_MAX_THREAD || !is_asked_for(b, e))
                return;
        alive_put(&b->live, &a);
        if (b->ask.with_address) {
                a.size_bytes = e->address;
                alive_put(&b->addresses, &a);
        }
}

/* 1 and a row, or 0. */
static size_t take_released(struct query_block_rows *b, const struct trace_event *e, uint64_t seq,
                            struct query_block_row *ret) {
        const struct alive_block *found = alive_find(&b->live, seq);
        struct alive_block a;

        if (!found ||
            query_event_process(b->q, e) != b->q->view->threads[found->thread].start.process)
                return 0;
        alive_take(&b->live, seq, &a);
        *ret = row_of(b, &a);
        ret->freed_ns = e->time_ns;
        ret->freed_stack = e->op == TRACE_REALLOC ? e->stack : e->free_stack;
        if (e->op != TRACE_OTHER) {
                ret->freed_by = e->thread;
                ret->is_temporary = e->thread == ret->thread && b->last_seq[e->thread] == seq + 1;
        }
        return is_end_asked_for(b, ret);
}

/* As block_life.c counts what is temporary: an allocation of the same thread lies between otherwise. */
static size_t fill_released(struct query_block_rows *b, struct query_block_row *ret, size_t cap) {
        size_t n = 0, i = b->next_event;

        for (; i < b->n_events && n < cap; i++) {
                const struct trace_event *e = &b->events[i];

                if (query_event_process(b->q, e) >= b->q->view->n_processes)
                        continue;
                if (e->op == TRACE_FREE ||
                    (e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE))
                        n += take_released(b, e, e->seq, &ret[n]);
                else if (e->op == TRACE_REALLOC)
                        n += take_released(b, e, e->old_seq, &ret[n]);
                else if (e->op == TRACE_OTHER && e->other == TRACE_UNSAMPLED)
                        b->last_seq[e->thread] = 0;
                if (is_alloc(e))
                        put_alive(b, e);
        }
        b->next_event = i;
        return n;
}

static size_t fill_survivors(struct query_block_rows *b, struct query_block_row *ret, size_t cap) {
        const struct alive_block *a;
        size_t n = 0;

        while (n < cap && (a = alive_next(&b->live, &b->next_survivor))) {
                ret[n] = row_of(b, a);
                n += is_end_asked_for(b, &ret[n]);
        }
        return n;
}

/* ---- the pass ---------------------------------------------------------------------------------- */

void query_block_rows_open(struct query *q, const struct query_block_ask *ask,
                           struct query_block_rows **ret) {
        struct query_block_rows *b = calloc(1, sizeof(*b));

        if (!b)
                abort();
        b->q = q;
        b->ask = *ask;
        b->ask.with_address &= (q->view->meta.flags & TRACE_HAS_ADDRESSES) != 0;
        b->ranges = b->ask.ranges;
        b->is_exact = true;
        b->is_plain = is_for_all(q, ask);
        b->is_counted = b->is_plain && ask->only_seq && !ask->with_release && q->view->finished &&
                        !query_damage(q)[0];
        b->is_over = query_ranges_are_empty(ask->ranges, QUERY_N_BLOCK_KEYS);
        b->next_slice = MAX(query_slice_at(q, ask->ranges[QUERY_BLOCK_TIME].low),
                            query_slice_of_seq(q, ask->ranges[QUERY_BLOCK_SEQ].low));
        if (ask->with_release) {
                b->last_seq = calloc(q->view->n_threads + 1, sizeof(b->last_seq[0]));
                if (!b->last_seq)
                        abort();
        }
        *ret = b;
}

int query_block_rows_fill(struct query_block_rows *b, struct query_block_row *ret, size_t cap,
                          struct err *reterr) {
        size_t n = 0;

        cap = MIN(cap, (size_t)INT32_MAX);
        while (n < cap && !b->is_over) {
                if (b->next_event == b->n_events) {
                        if (!load_slice(b))
                                break;
                        continue;
                }
                n += b->is_counted         ? fill_counted(b, &ret[n], cap - n)
                     : b->ask.with_release ? fill_released(b, &ret[n], cap - n)
                                           : fill_allocs(b, &ret[n], cap - n);
        }
        if (b->is_over)
                n += fill_survivors(b, &ret[n], cap - n);
        return n ? (int)n : query_end(b->q, reterr);
}

bool query_block_rows_is_exact(const struct query_block_rows *b) {
        return b->is_exact;
}

struct query_block_rows *query_block_rows_free(struct query_block_rows *b) {
        if (!b)
                return NULL;
        alive_done(&b->live);
        alive_done(&b->addresses);
        free(b->last_seq);
        free(b);
        return NULL;
}

/* ---- alive at a moment ------------------------------------------------------------------------- */

struct living {
        query_live_block_fn fn;
        void *ctx;
        bool is_at_peak; /* those of the peak are told, not those of the window's end */
        bool is_over;
        uint64_t n_blocks, bytes;
};

static bool tell_living(void *ctx, const struct query_life *l) {
        struct living *x = ctx;
        struct query_live_block b = {.seq = l->seq,
                                     .time_ns = l->begin_ns,
                                     .size_bytes = l->size_bytes,
                                     .freed_ns = l->end_ns,
                                     .stack = l->stack,
                                     .thread = l->thread,
                                     .n_blocks = l->n_blocks,
                                     .process = l->process};

        if (!(x->is_at_peak ? l->is_live_at_peak : l->is_live_at_to))
                return true;
        x->n_blocks += l->n_blocks;
        x->bytes += life_bytes(l);
        x->is_over = !x->fn(x->ctx, &b);
        return !x->is_over;
}

/* Whether they add up to what history says of the same moment. */
static int living_check(struct query *q, const struct query_scope *scope, const struct living *x,
                        bool *ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        int r = query_ask(q, scope, &a, reterr);

        if (r >= 0)
                *ret = x->n_blocks == a->totals.end_blocks && x->bytes == a->totals.end_bytes;
        return r;
}

int query_live_blocks(struct query *q, uint32_t process, uint64_t at_ns, bool with_release,
                      query_live_block_fn fn, void *ctx, bool *ret_is_exact, struct err *reterr) {
        struct query_scope scope = {.process = process, .to_ns = at_ns};
        struct living x = {.fn = fn, .ctx = ctx};
        int r = life_scan(q, &scope, LIFE_NO_PEAK | (with_release ? LIFE_TO_END : 0), tell_living,
                          &x, ret_is_exact, reterr);

        return r < 0 || x.is_over ? r : living_check(q, &scope, &x, ret_is_exact, reterr);
}

int query_peak_blocks(struct query *q, uint32_t process, bool with_release, query_live_block_fn fn,
                      void *ctx, bool *ret_is_exact, struct err *reterr) {
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        struct living x = {.fn = fn, .ctx = ctx, .is_at_peak = true};
        struct peak peak;
        int r;

        peak_of_scope(q, &scope, &peak);
        if (peak.place == PEAK_IN_SLICE) /* what follows it need not be read */
                scope.to_ns = trace_slice(q->reader, peak.slice_idx)->end_ns;
        r = life_scan_peak(q, &scope, with_release ? LIFE_TO_END : 0, &peak, tell_living, &x,
                           ret_is_exact, reterr);
        if (r >= 0 && !x.is_over)
                *ret_is_exact = x.n_blocks == peak.blocks && x.bytes == peak.bytes;
        return r;
}
