/* SPDX-License-Identifier: MIT */
#include "query/work_columns.h"

#include "query/query_internal.h"

struct cutter {
        struct query *q;
        const struct query_scope *scope;
        uint64_t *ends_ns;
        size_t n, n_columns;
        double total, done, n_events_left; /* allocations, in all and so far */
};

/* What of a slice lies in the window, taking its events to be even. */
static double share_inside(const struct trace_slice_info *s, const struct query_scope *scope) {
        uint64_t begin_ns = MAX(s->begin_ns, scope->from_ns), end_ns = MIN(s->end_ns, scope->to_ns);

        if (begin_ns >= end_ns)
                return 0;
        return (double)(end_ns - begin_ns) / (double)(s->end_ns - s->begin_ns);
}

static double next_end(const struct cutter *c) {
        return c->total * (double)(c->n + 1) / (double)c->n_columns;
}

static void put_end(struct cutter *c, uint64_t at_ns) {
        at_ns = MIN(MAX(at_ns, c->scope->from_ns + 1), c->scope->to_ns);
        c->ends_ns[c->n] = c->n ? MAX(at_ns, c->ends_ns[c->n - 1]) : at_ns;
        c->n++;
}

static bool is_alloc(const struct trace_event *e) {
        return e->op == TRACE_ALLOC || e->op == TRACE_REALLOC;
}

/* Event by event; false: they cannot be read. */
static bool cut_exactly(struct cutter *c, size_t slice_idx, const struct trace_slice_info *s,
                        double work) {
        const struct trace_event *events;
        double n_inside = 0, before = c->done;
        struct err err = {0};
        size_t n;

        if (!s->has_events || (double)s->n_events > c->n_events_left ||
            trace_read_events(c->q->reader, slice_idx, &events, &n, &err) < 0)
                return false;
        c->n_events_left -= (double)n;
        for (size_t i = 0; i < n; i++)
                n_inside += is_alloc(&events[i]) && events[i].time_ns >= c->scope->from_ns &&
                            events[i].time_ns < c->scope->to_ns;
        for (size_t i = 0, k = 0; i < n && n_inside > 0; i++) {
                if (!is_alloc(&events[i]) || events[i].time_ns < c->scope->from_ns)
                        continue;
                c->done = before + work * (double)++k / n_inside;
                while (c->n + 1 < c->n_columns && next_end(c) <= c->done)
                        put_end(c, events[i].time_ns + 1);
        }
        return true;
}

static void cut_evenly(struct cutter *c, const struct trace_slice_info *s, double work) {
        uint64_t begin_ns = MAX(s->begin_ns, c->scope->from_ns);
        uint64_t end_ns = MIN(s->end_ns, c->scope->to_ns);

        while (c->n + 1 < c->n_columns && next_end(c) <= c->done + work) {
                double part = (next_end(c) - c->done) / work;

                put_end(c, begin_ns + (uint64_t)((double)(end_ns - begin_ns) * part));
        }
}

void work_column_ends(struct query *q, const struct query_scope *scope, size_t n_columns,
                      uint64_t max_events, uint64_t *ret_ends_ns) {
        struct cutter c = {.q = q,
                           .scope = scope,
                           .ends_ns = ret_ends_ns,
                           .n_columns = n_columns,
                           .n_events_left = (double)max_events};
        size_t first = query_slice_at(q, scope->from_ns);

        for (size_t i = first; i < q->view->n_slices; i++) {
                const struct trace_slice_info *s = trace_slice(q->reader, i);

                c.total += share_inside(s, scope) * (double)s->n_allocs;
        }
        for (size_t i = first; i < q->view->n_slices && c.total > 0; i++) {
                const struct trace_slice_info *s = trace_slice(q->reader, i);
                double work = share_inside(s, scope) * (double)s->n_allocs, before = c.done;

                if (!query_go_on(q, i + 1, q->view->n_slices))
                        break;
                if (work > 0 && c.n + 1 < n_columns && next_end(&c) <= c.done + work &&
                    !cut_exactly(&c, i, s, work))
                        cut_evenly(&c, s, work);
                c.done = before + work;
        }
        while (c.n < n_columns)
                put_end(&c, scope->to_ns);
}
