/* SPDX-License-Identifier: MIT */
#include "query/event_rows.h"

#include <stdlib.h>

#include "query/query_internal.h"

struct query_event_rows {
        struct query *q;
        struct query_event_ask ask;
        size_t next_slice;
        const struct trace_event *events; /* of the slice before next_slice */
        size_t n_events, next_event;
        bool is_exact, is_over;
};

static bool is_of_block(const struct trace_event *e) {
        return e->op != TRACE_OTHER || e->other == TRACE_IMPLICIT_FREE;
}

static bool is_asked_for(const struct query_event_rows *x, const struct trace_event *e) {
        const struct query_value_range *r = x->ask.ranges;
        uint32_t process = query_event_process(x->q, e);

        return query_range_has(&r[QUERY_EVENT_TIME], e->time_ns) &&
               query_range_has(&r[QUERY_EVENT_BLOCK], e->seq) &&
               query_range_has(&r[QUERY_EVENT_BYTES], e->size_bytes) &&
               query_range_has(&r[QUERY_EVENT_STACK], e->stack) &&
               query_range_has(&r[QUERY_EVENT_THREAD], e->thread) &&
               query_range_has(&r[QUERY_EVENT_PROCESS], process) &&
               (x->ask.process == QUERY_ALL || x->ask.process == process);
}

/* False: there is none, or it is to stop. */
static bool load_slice(struct query_event_rows *x) {
        const struct trace_slice_info *s = trace_slice(x->q->reader, x->next_slice);

        if (!s || s->begin_ns > x->ask.ranges[QUERY_EVENT_TIME].high) {
                x->is_over = true;
                return false;
        }
        if (!query_go_on(x->q, x->next_slice, x->q->view->n_slices))
                return false;
        x->is_exact &= query_read_events(x->q, x->next_slice++, &x->events, &x->n_events);
        x->next_event = 0;
        return true;
}

void query_event_rows_open(struct query *q, const struct query_event_ask *ask,
                           struct query_event_rows **ret) {
        struct query_event_rows *x = calloc(1, sizeof(*x));

        if (!x)
                abort();
        *x = (struct query_event_rows){.q = q, .ask = *ask, .is_exact = true};
        x->is_over = query_ranges_are_empty(ask->ranges, QUERY_N_EVENT_KEYS);
        /* nothing happens to a block before it is allocated */
        x->next_slice = MAX(query_slice_at(q, ask->ranges[QUERY_EVENT_TIME].low),
                            query_slice_of_seq(q, ask->ranges[QUERY_EVENT_BLOCK].low));
        *ret = x;
}

int query_event_rows_fill(struct query_event_rows *x, struct trace_event *ret, size_t cap,
                          struct err *reterr) {
        size_t n = 0;

        cap = MIN(cap, (size_t)INT32_MAX);
        while (n < cap && !x->is_over) {
                if (x->next_event == x->n_events) {
                        if (!load_slice(x))
                                break;
                        continue;
                }
                while (x->next_event < x->n_events && n < cap) {
                        const struct trace_event *e = &x->events[x->next_event++];

                        if (is_of_block(e) && is_asked_for(x, e))
                                ret[n++] = *e;
                }
        }
        return n ? (int)n : query_end(x->q, reterr);
}

bool query_event_rows_is_exact(const struct query_event_rows *x) {
        return x->is_exact;
}

struct query_event_rows *query_event_rows_free(struct query_event_rows *x) {
        free(x);
        return NULL;
}
