/* SPDX-License-Identifier: MIT */
/* How much was allocated, column by column, from the rows of slices. Within a slice it is taken for even, or counted event by event. */
#include <string.h>

#include "query/pick.h"
#include "query/query_internal.h"
#include "query/rates.h"

struct rating {
        struct query *q;
        const struct query_scope *scope;
        const struct pick *pick;
        uint64_t from_ns, to_ns;
        struct query_rate *columns;
        size_t n_columns;
        bool by_events;         /* slices that lie in several columns are counted */
        uint64_t n_events_left; /* that may be read for it */
        bool is_exact;
};

static uint64_t column_begin_ns(const struct rating *r, size_t i) {
        return r->from_ns + (uint64_t)((__uint128_t)(r->to_ns - r->from_ns) * i / r->n_columns);
}

static size_t column_at(const struct rating *r, uint64_t time_ns) {
        size_t i = (size_t)((__uint128_t)(time_ns - r->from_ns) * r->n_columns /
                            (r->to_ns - r->from_ns));

        return MIN(i, r->n_columns - 1);
}

/* Each column gets its part of the time. */
static void spread(struct rating *r, const struct trace_slice_info *s, uint64_t n_allocs,
                   uint64_t bytes) {
        uint64_t begin_ns = MAX(s->begin_ns, r->from_ns), end_ns = MIN(s->end_ns, r->to_ns);
        double length_ns = s->end_ns > s->begin_ns ? (double)(s->end_ns - s->begin_ns) : 1;

        if (n_allocs == 0 || begin_ns >= r->to_ns)
                return;
        for (size_t i = column_at(r, begin_ns); i < r->n_columns; i++) {
                uint64_t a = MAX(column_begin_ns(r, i), begin_ns);
                uint64_t b = MIN(column_begin_ns(r, i + 1), MAX(end_ns, begin_ns + 1));
                double share = b > a ? (double)(b - a) / length_ns : 0;

                if (a > b)
                        break;
                r->columns[i].n_allocs += share * (double)n_allocs;
                r->columns[i].bytes += share * (double)bytes;
        }
}

/* Whether a part of the slice is outside of the column in which it begins. */
static bool is_cut(const struct rating *r, const struct trace_slice_info *s) {
        return s->begin_ns < r->from_ns || s->end_ns > r->to_ns ||
               s->end_ns > column_begin_ns(r, column_at(r, s->begin_ns) + 1);
}

static bool in_scope(const struct rating *r, uint32_t process) {
        return process < r->q->view->n_processes &&
               (r->scope->process == QUERY_ALL || r->scope->process == process) &&
               pick_has_process(r->pick, process);
}

/* False: they are not to be read, or missing, or stand for others. */
static bool add_events(struct rating *r, size_t slice_idx) {
        const struct trace_slice_info *s = trace_slice(r->q->reader, slice_idx);
        const struct trace_event *events;
        size_t n;

        if (s->n_events == 0)
                return true;
        if (s->n_events > r->n_events_left || query_sample_bytes(r->q) ||
            !query_read_allocs(r->q, slice_idx, &events, &n))
                return false;
        r->n_events_left -= s->n_events;
        for (size_t i = 0; i < n; i++) {
                const struct trace_event *e = &events[i];
                size_t column;

                if (e->time_ns < r->from_ns || e->time_ns >= r->to_ns ||
                    !in_scope(r, query_event_process(r->q, e)))
                        continue;
                column = column_at(r, e->time_ns);
                column += column + 1 < r->n_columns && column_begin_ns(r, column + 1) <= e->time_ns;
                r->columns[column].n_allocs += e->n_blocks;
                r->columns[column].bytes += (double)trace_event_bytes(e);
        }
        return true;
}

static int add_counts(struct rating *r, size_t slice_idx, struct err *reterr) {
        const struct trace_counts *rows;
        uint64_t n_allocs = 0, bytes = 0;
        size_t n;
        int x;

        if (r->by_events && is_cut(r, trace_slice(r->q->reader, slice_idx))) {
                if (add_events(r, slice_idx))
                        return 0;
                r->is_exact = false;
        }
        x = trace_read_counts(r->q->reader, slice_idx, &rows, &n, reterr);
        for (size_t i = 0; x >= 0 && i < n; i++)
                if (in_scope(r, rows[i].process)) {
                        n_allocs += rows[i].n_allocs;
                        bytes += rows[i].alloc_bytes;
                }
        if (x >= 0)
                spread(r, trace_slice(r->q->reader, slice_idx), n_allocs, bytes);
        return x;
}

static int add_sites(struct rating *r, size_t slice_idx, struct err *reterr) {
        const struct trace_site *rows;
        uint64_t n_allocs = 0, bytes = 0;
        size_t n;
        int x = trace_read_sites(r->q->reader, slice_idx, &rows, &n, reterr);

        for (size_t i = 0; x >= 0 && i < n; i++)
                if (in_scope(r, rows[i].process) && pick_has_stack(r->pick, rows[i].stack)) {
                        n_allocs += rows[i].n_allocs;
                        bytes += rows[i].alloc_bytes;
                }
        if (x >= 0)
                spread(r, trace_slice(r->q->reader, slice_idx), n_allocs, bytes);
        return x;
}

static struct rating rating_of(struct query *q, const struct query_scope *scope, size_t n_columns,
                               struct query_rate *ret) {
        memset(ret, 0, n_columns * sizeof(ret[0]));
        return (struct rating){.q = q,
                               .scope = scope,
                               .from_ns = scope->from_ns,
                               .to_ns = MAX(MIN(scope->to_ns, q->view->end_ns), scope->from_ns + 1),
                               .columns = ret,
                               .n_columns = n_columns,
                               .is_exact = true};
}

static int add_slices(struct rating *r, struct err *reterr) {
        struct query *q = r->q;

        for (size_t i = query_slice_at(q, r->from_ns); i < q->view->n_slices && r->n_columns; i++) {
                struct err e = {0};

                if (trace_slice(q->reader, i)->begin_ns >= r->to_ns ||
                    !query_go_on(q, i, q->view->n_slices))
                        break;
                if ((r->pick && r->pick->stacks ? add_sites(r, i, &e) : add_counts(r, i, &e)) < 0)
                        query_note_damage(q, &e);
        }
        return query_end(q, reterr);
}

int query_rates(struct query *q, const struct query_scope *scope, size_t n_columns,
                struct query_rate *ret, bool *ret_is_known, struct err *reterr) {
        struct rating r = rating_of(q, scope, n_columns, ret);
        int x = pick_get(q, scope->filter, &r.pick, reterr);

        if (x < 0)
                return x;
        *ret_is_known = !query_filter_needs_events(scope->filter);
        return *ret_is_known ? add_slices(&r, reterr) : query_end(q, reterr);
}

int query_exact_rates(struct query *q, const struct query_scope *scope, size_t n_columns,
                      uint64_t max_events, struct query_rate *ret, bool *ret_is_exact,
                      struct err *reterr) {
        struct rating r = rating_of(q, scope, n_columns, ret);
        int x;

        r.by_events = true;
        r.n_events_left = max_events;
        x = add_slices(&r, reterr);
        *ret_is_exact = r.is_exact;
        return x;
}
