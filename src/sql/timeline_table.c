/* SPDX-License-Identifier: MIT */
/* timeline(columns, from, to): what was live and resident, and what was allocated, in stretches of equal length. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/rates.h"
#include "show/show_options.h"
#include "sql/all_tables.h"

enum {
        TIMELINE_BEGIN,
        TIMELINE_END,
        TIMELINE_LIVE,
        TIMELINE_LOW_LIVE,
        TIMELINE_RSS,
        TIMELINE_ALLOCATIONS,
        TIMELINE_ALLOCATED,
        TIMELINE_COLUMNS,
        TIMELINE_FROM,
        TIMELINE_TO,
};

enum { TIMELINE_USUAL = 100, TIMELINE_MOST = 100000 };

struct timeline_cursor {
        struct sql_cursor c;
        struct query_column *columns;
        struct query_rate *rates; /* NULL: not asked for */
        size_t i, n;
};

static double n_stretches(struct sql_space *space) {
        (void)space;
        return TIMELINE_USUAL;
}

static void timeline_settle(struct timeline_cursor *t) {
        t->c.rowid = (int64_t)t->i;
        t->c.is_eof = t->i >= t->n;
}

static int timeline_next(struct sql_cursor *base, struct err *reterr) {
        struct timeline_cursor *t = (struct timeline_cursor *)base;

        (void)reterr;
        t->i++;
        timeline_settle(t);
        return 0;
}

static void timeline_end(struct sql_cursor *base) {
        struct timeline_cursor *t = (struct timeline_cursor *)base;

        free(t->columns);
        free(t->rates);
        t->columns = NULL;
        t->rates = NULL;
}

static int count_of(sqlite3_value *v, size_t *ret, struct err *reterr) {
        int64_t n =
                v && sqlite3_value_type(v) != SQLITE_NULL ? sqlite3_value_int64(v) : TIMELINE_USUAL;

        if (n < 1 || n > TIMELINE_MOST)
                return err_set(reterr, -EINVAL, "timeline(columns, …) has from 1 to %d columns",
                               (int)TIMELINE_MOST);
        *ret = (size_t)n;
        return 0;
}

static int scope_of(struct sql_space *s, const struct sql_ask *ask, struct query_scope *ret,
                    struct err *reterr) {
        int r;

        *ret = space_scope(s);
        r = space_time(s, ask->arguments[TIMELINE_FROM], 0, &ret->from_ns, reterr);
        if (r >= 0)
                r = space_time(s, ask->arguments[TIMELINE_TO], UINT64_MAX, &ret->to_ns, reterr);
        return r < 0 ? r : space_check_window(s, ret->from_ns, ret->to_ns, reterr);
}

/* Where a stretch has its share of a slice. Shares are made whole numbers so that they add up. */
static void make_whole(struct query_rate *rates, size_t n) {
        struct query_rate sum = {0}, told = {0};

        for (size_t i = 0; i < n; i++) {
                sum.n_allocs += rates[i].n_allocs;
                sum.bytes += rates[i].bytes;
                rates[i] = (struct query_rate){round(sum.n_allocs) - told.n_allocs,
                                               round(sum.bytes) - told.bytes};
                told.n_allocs += rates[i].n_allocs;
                told.bytes += rates[i].bytes;
        }
}

static int read_rates(struct timeline_cursor *t, const struct query_scope *scope,
                      struct err *reterr) {
        struct sql_space *space = t->c.space;
        bool is_exact;
        int r;

        t->rates = calloc(t->n, sizeof(*t->rates));
        if (!t->rates)
                abort();
        r = query_exact_rates(space->trace.q, scope, t->n, SHOW_MAX_EVENTS, t->rates, &is_exact,
                              reterr);
        if (r >= 0 && !is_exact) {
                make_whole(t->rates, t->n);
                space->tells_shares = !(space->view->meta.flags & TRACE_LACKS_TRAFFIC);
        }
        return r;
}

static int timeline_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct timeline_cursor *t = (struct timeline_cursor *)base;
        struct query_scope scope;
        int r = count_of(ask->arguments[TIMELINE_COLUMNS], &t->n, reterr);

        if (r >= 0)
                r = scope_of(base->space, ask, &scope, reterr);
        if (r < 0)
                return r;
        t->columns = calloc(t->n, sizeof(*t->columns));
        if (!t->columns)
                abort();
        r = query_timeline(base->space->trace.q, &scope, t->n, SHOW_MAX_EVENTS, t->columns, reterr);
        if (r >= 0 &&
            (sql_ask_uses(ask, TIMELINE_ALLOCATIONS) || sql_ask_uses(ask, TIMELINE_ALLOCATED)))
                r = read_rates(t, &scope, reterr);
        if (r < 0)
                return r;
        base->space->tells_curve |=
                base->space->process != QUERY_ALL || base->space->view->n_processes == 1;
        t->i = 0;
        timeline_settle(t);
        return 0;
}

static void put_rate(sqlite3_context *to, double x) {
        sqlite3_result_int64(to, x >= 0x1p63 ? INT64_MAX : (int64_t)x);
}

static void timeline_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct timeline_cursor *t = (const struct timeline_cursor *)base;
        const struct query_column *x = &t->columns[t->i];
        uint32_t flags = base->space->view->meta.flags;

        switch (column) {
        case TIMELINE_BEGIN: sql_result_count(to, x->begin_ns); break;
        case TIMELINE_END: sql_result_count(to, x->end_ns); break;
        case TIMELINE_LIVE:
                if (!(flags & TRACE_LACKS_LIVE))
                        sql_result_count(to, x->live_bytes);
                break;
        case TIMELINE_LOW_LIVE:
                if (!(flags & TRACE_LACKS_LIVE))
                        sql_result_count(to, x->low_live_bytes);
                break;
        case TIMELINE_RSS:
                if (x->has_rss)
                        sql_result_count(to, x->rss_bytes);
                break;
        case TIMELINE_ALLOCATIONS:
                if (!(flags & (TRACE_LACKS_BLOCKS | TRACE_LACKS_TRAFFIC)))
                        put_rate(to, t->rates[t->i].n_allocs);
                break;
        case TIMELINE_ALLOCATED:
                if (!(flags & TRACE_LACKS_TRAFFIC))
                        put_rate(to, t->rates[t->i].bytes);
                break;
        default: break;
        }
}

static const struct sql_column timeline_columns[] = {
        [TIMELINE_BEGIN] = {"begin_ns", "where the stretch begins"},
        [TIMELINE_END] = {"end_ns", "where it ends; not in it"},
        [TIMELINE_LIVE] = {"live_bytes", "at most"},
        [TIMELINE_LOW_LIVE] = {"low_live_bytes", "at least, as far as known"},
        [TIMELINE_RSS] = {"rss_bytes", "resident at most, or when it was looked at last"},
        [TIMELINE_ALLOCATIONS] = {"allocations", "made in it"},
        [TIMELINE_ALLOCATED] = {"allocated_bytes", "by them"},
        [TIMELINE_COLUMNS] = {"columns", "how many stretches; 100", SQL_IS_ARGUMENT, .type = ""},
        [TIMELINE_FROM] = {"from", "where the first begins; the start", SQL_IS_ARGUMENT,
                           .type = ""},
        [TIMELINE_TO] = {"to", "where the last ends; the end", SQL_IS_ARGUMENT, .type = ""},
};

const struct sql_table sql_timeline = {
        .name = "timeline",
        .is_of_memory = true,
        .help = "what was live and allocated, in stretches of equal length",
        SQL_COLUMNS(timeline_columns),
        .cursor_bytes = sizeof(struct timeline_cursor),
        .n_rows = n_stretches,
        .row_cost = 10,
        .begin = timeline_begin,
        .next = timeline_next,
        .column = timeline_column,
        .end = timeline_end,
};
