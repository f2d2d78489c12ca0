/* SPDX-License-Identifier: MIT */
/* From what was asked to what it means for one trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "request/request.h"

static void add_note(struct request_resolved *x, const char *name, size_t n_same,
                     uint64_t time_ns) {
        struct unit_text at, n;
        size_t used = strlen(x->note);

        if (used > 200) /* the longest name there is room for, twice */
                used = 200;
        snprintf(x->note + used, sizeof(x->note) - used,
                 "%s@%.120s: %s moments have this name: using the first, at %s", used ? "; " : "",
                 name, unit_count(&n, n_same), unit_duration(&at, time_ns));
        err_make_one_line(x->note);
}

/* Fills in *ret_ns, but for a time that is not given. */
static int find_time(const struct request_time *t, const char *key, struct query *q,
                     struct request_resolved *x, uint64_t *ret_ns, enum query_edge *ret_edge,
                     struct err *reterr) {
        struct query_moment m = {0};
        size_t n_same;
        int r;

        *ret_edge = QUERY_NO_EDGE;
        if (!t->is_set)
                return 0;
        *ret_ns = t->ns;
        if (!t->name)
                return 0;
        r = query_find_moment(q, x->scope.process, t->name, &m, &n_same, reterr);
        if (r < 0)
                return err_about(reterr, key, r);
        if (n_same > 1)
                add_note(x, t->name, n_same, m.time_ns);
        *ret_ns = m.time_ns;
        *ret_edge = m.edge;
        return 0;
}

static int check_end(const char *key, const struct query *q, struct err *reterr) {
        return err_about(reterr, key, query_refuse_late(q, reterr));
}

/* Whoever asks about one process by its name does not mean the time after it. */
static int check_life(const struct request *r, struct query *q, const struct request_resolved *x,
                      struct err *reterr) {
        uint32_t process = x->scope.process;
        bool is_at = x->is_at && x->scope.to_ns != UINT64_MAX;
        uint64_t begin_ns = is_at ? x->scope.to_ns : x->scope.from_ns, end_ns;
        struct unit_text t;

        if (!r->process || process == QUERY_ALL || !begin_ns)
                return 0;
        end_ns = query_run_end_ns(q, process);
        if (begin_ns <= end_ns)
                return 0;
        return err_about(reterr, is_at ? "at" : "from",
                         err_set(reterr, -ERANGE, "process %u ended at %s: choose an earlier time",
                                 query_view(q)->processes[process].start.pid,
                                 unit_duration(&t, end_ns)));
}

/* Sums of one moment, or of a whole run: between two times nobody knows what they were. */
static int check_sums(const struct request_time *t, const char *key, const struct query *q,
                      struct err *reterr) {
        const struct trace_view *v = query_view(q);

        if (!(v->meta.flags & TRACE_IS_TOTALS) || v->n_slices > 2 || /* the first has nothing */
            !t->is_set || t->name || !t->ns || t->ns >= v->end_ns)
                return 0;
        return err_about(
                reterr, key,
                err_set(reterr, -ENOTSUP,
                        "the file has one sum for each call path, and no times: leave it out"));
}

static int resolve_window(const struct request *r, struct query *q, struct request_resolved *x,
                          struct err *reterr) {
        const struct request_time *end = r->at.is_set ? &r->at : &r->to;
        const char *key = r->at.is_set ? "at" : "to";
        uint64_t end_ns = query_view(q)->end_ns;
        enum query_edge edge;
        int y = check_sums(&r->from, "from", q, reterr);

        if (y >= 0)
                y = check_sums(end, key, q, reterr);
        if (y >= 0)
                y = find_time(&r->from, "from", q, x, &x->scope.from_ns, &edge, reterr);
        if (y >= 0)
                y = find_time(end, key, q, x, &x->scope.to_ns, &edge, reterr);
        if (y < 0)
                return y;
        x->is_at = r->at.is_set;
        x->scope.is_moment = x->is_at && x->scope.of_mappings;
        /* what was alive at the peak: not a release later, in the same microsecond */
        if (x->is_at && edge == QUERY_AT_PEAK && x->metric == QUERY_END)
                x->metric = QUERY_PEAK;
        if (edge == QUERY_FINISH) { /* the last event is before the end */
                x->scope.to_ns = UINT64_MAX;
                x->is_at = false;
        }
        if (x->scope.from_ns >= x->scope.to_ns && x->scope.from_ns > 0)
                return err_about(reterr, "from",
                                 err_set(reterr, -ERANGE,
                                         "the window is empty: it must begin before it ends"));
        /* a moment before anything happened may be asked about */
        if (x->scope.from_ns >= x->scope.to_ns && !x->is_at)
                return err_about(reterr, key,
                                 err_set(reterr, -ERANGE,
                                         "the window is empty: it must end later than 0"));
        if (x->scope.from_ns > 0 && x->scope.from_ns >= end_ns)
                return check_end("from", q, reterr);
        if (x->is_at && x->scope.to_ns > end_ns)
                return check_end("at", q, reterr);
        return check_life(r, q, x, reterr);
}

static int resolve_filter(const struct request *r, struct query *q, struct request_resolved *x,
                          struct err *reterr) {
        int y = query_filter_name_times(r->filter, q, &x->scope, &x->filter, reterr);

        if (y < 0)
                return y;
        if (query_filter_has_ages(r->filter) && query_view(q)->meta.flags & TRACE_LACKS_TIME)
                return err_set(
                        reterr, -ENOTSUP,
                        "this recording has no times: how long blocks lived is unknown: choose another filter");
        x->scope.filter = x->filter ? x->filter : r->filter;
        return query_filter_check(x->scope.filter, q, reterr);
}

/* What to choose instead of a metric that the recording does not know. */
static const char *known_metrics(const struct query *q) {
        const struct trace_meta *m = &query_view(q)->meta;

        return m->unit != TRACE_UNIT_BYTES   ? "it has one figure alone: leave --by out"
               : m->flags & TRACE_LACKS_LIVE ? "choose allocated"
               : m->flags & TRACE_LACKS_PEAK ? m->flags & (TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS)
                                                       ? "choose end"
                                                       : "choose end, allocated or count"
               : m->flags & (TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS)
                       ? "choose peak or end"
                       : "choose peak, end, allocated or count";
}

static int refuse_metric(const struct query *q, const char *why, struct err *reterr) {
        return err_about(reterr, "by",
                         err_set(reterr, -ENOTSUP, "this recording %s: %s", why, known_metrics(q)));
}

int request_resolve(const struct request *r, struct query *q, enum request_whom whom,
                    struct request_resolved *ret, struct err *reterr) {
        int x = 0;

        *ret = (struct request_resolved){.scope = query_whole(q), .metric = request_metric(r)};
        if (ret->metric == QUERY_TEMPORARY && query_view(q)->meta.flags & TRACE_IS_TOTALS)
                return refuse_metric(
                        q, "has totals and no events: which allocations were temporary is unknown",
                        reterr);
        if (r->shape == REQUEST_LIFETIMES && query_view(q)->meta.flags & TRACE_LACKS_TIME)
                return err_about(
                        reterr, "histogram",
                        err_set(reterr, -ENOTSUP,
                                "this recording has no times: how long blocks lived is unknown: choose size"));
        if (query_view(q)->meta.flags & TRACE_LACKS_LIVE &&
            (ret->metric == QUERY_PEAK || ret->metric == QUERY_END ||
             ret->metric == QUERY_GROWTH)) {
                if (r->has_metric)
                        return err_about(
                                reterr, "by",
                                err_set(reterr, -ENOTSUP,
                                        "this recording has only what was allocated: what was live is unknown: choose allocated"));
                ret->metric = QUERY_ALLOCATED;
        }
        if (ret->metric == QUERY_PEAK && query_view(q)->meta.flags & TRACE_LACKS_PEAK) {
                if (r->has_metric)
                        return err_about(
                                reterr, "by",
                                err_set(reterr, -ENOTSUP,
                                        "this recording is of one moment: what was live at the peak is unknown: choose end"));
                ret->metric = QUERY_END;
        }
        if ((ret->metric == QUERY_COUNT || ret->metric == QUERY_ALLOCATED) &&
            query_view(q)->meta.flags & TRACE_LACKS_TRAFFIC)
                return refuse_metric(q,
                                     "has only what was live: what was allocated in all is unknown",
                                     reterr);
        if (query_view(q)->meta.flags & TRACE_LACKS_BLOCKS &&
            (ret->metric == QUERY_COUNT ||
             (ret->metric == QUERY_ALLOCATED && query_view(q)->meta.unit == TRACE_UNIT_BYTES &&
              !(query_view(q)->meta.flags & TRACE_LACKS_LIVE))))
                return refuse_metric(q, "has no numbers of blocks: what was allocated is unknown",
                                     reterr);
        if (!r->has_metric && query_is_of_time(q))
                ret->metric = QUERY_CPU;
        ret->scope.of_time = query_metric_time(ret->metric);
        if (ret->scope.of_time && !query_has_ticks(q))
                return err_about(
                        reterr, "by",
                        err_set(reterr, -ENOTSUP,
                                "this recording has no samples of time: record with 'silt cpu run' or 'silt run --cpu', or choose another metric"));
        unit_ask_weights(query_metric_unit(q, ret->metric));
        ret->scope.of_mappings = ret->metric == QUERY_MAPPED;
        if (ret->scope.of_mappings && query_view(q)->meta.unit != TRACE_UNIT_BYTES)
                return refuse_metric(q, "is no profile of memory, nothing in it is mapped", reterr);
        if (ret->scope.of_mappings && origin_is_import(&query_view(q)->meta))
                return refuse_metric(q, "was imported: what the program mapped itself is unknown",
                                     reterr);
        if (ret->metric == QUERY_GROWTH && query_view(q)->meta.unit != TRACE_UNIT_BYTES)
                return refuse_metric(q, "is no profile of memory, nothing in it grows", reterr);
        if (r->process || whom == REQUEST_ALL)
                x = query_choose_process(q, r->process, &ret->scope.process, reterr);
        if (x >= 0)
                x = resolve_window(r, q, ret, reterr);
        if (x >= 0)
                x = resolve_filter(r, q, ret, reterr);
        return x;
}

void request_resolved_done(struct request_resolved *x) {
        x->filter = query_filter_free(x->filter);
        *x = (struct request_resolved){0};
}
