/* SPDX-License-Identifier: MIT */
/* events: allocations and releases as they happened; as export/sqlite.c writes them. */
#include <math.h>

#include "query/event_rows.h"
#include "sql/all_tables.h"
#include "sql/row_feed.h"
#include "sql/value_range.h"

enum {
        EVENT_TIME,
        EVENT_OP,
        EVENT_PROCESS,
        EVENT_THREAD,
        EVENT_BLOCK,
        EVENT_BYTES,
        EVENT_STACK,
        EVENT_STANDS_FOR,
        EVENT_OLD_BLOCK,
        EVENT_OLD_BYTES,
        EVENT_OLD_STACK,
        EVENT_ADDRESS,
        EVENT_FREED_STACK,
};

struct event_cursor {
        struct sql_cursor c;
        struct query *q; /* that the feed reads with */
        struct query_event_rows *rows;
        struct row_feed feed;
        const struct trace_event *event, *end; /* at hand, and the end of its batch */
};

static double n_events(struct sql_space *space) {
        return (double)space->view->n_events;
}

/* Taken for even. */
static double part_before(struct sql_space *space, int64_t time_ns) {
        return (double)time_ns / fmax((double)space->view->end_ns, 1);
}

static double n_in_slice(struct sql_space *space) {
        return (double)space->view->n_events / fmax((double)space->view->n_slices, 1);
}

static double n_stacks(struct sql_space *space) {
        return (double)space->view->n_stacks;
}

static double n_threads(struct sql_space *space) {
        return (double)space->view->n_threads;
}

static double n_processes(struct sql_space *space) {
        return (double)space->view->n_processes;
}

static struct query_event_ask event_ask(const struct sql_space *space, const struct sql_ask *ask) {
        static const uint8_t keys[QUERY_N_EVENT_KEYS] = {
                [QUERY_EVENT_TIME] = EVENT_TIME,     [QUERY_EVENT_BLOCK] = EVENT_BLOCK,
                [QUERY_EVENT_BYTES] = EVENT_BYTES,   [QUERY_EVENT_STACK] = EVENT_STACK,
                [QUERY_EVENT_THREAD] = EVENT_THREAD, [QUERY_EVENT_PROCESS] = EVENT_PROCESS,
        };
        struct query_event_ask to = {.process = space->process};

        for (size_t i = 0; i < QUERY_N_EVENT_KEYS; i++)
                to.ranges[i] = sql_value_range(&ask->ranges[keys[i]]);
        return to;
}

static int event_take(struct event_cursor *x, struct err *reterr) {
        const void *batch = NULL;
        int r = row_feed_next(&x->feed, &batch, reterr);

        if (r < 0)
                return r;
        x->event = batch;
        x->end = r ? x->event + r : NULL;
        x->c.is_eof = r == 0;
        return 0;
}

static int event_next(struct sql_cursor *base, struct err *reterr) {
        struct event_cursor *x = (struct event_cursor *)base;

        base->rowid++;
        return unlikely(++x->event == x->end) ? event_take(x, reterr) : 0;
}

static int event_fill(void *ctx, void *ret, size_t cap, struct err *reterr) {
        return query_event_rows_fill(ctx, ret, cap, reterr);
}

static int event_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct event_cursor *x = (struct event_cursor *)base;
        struct query_event_ask of = event_ask(base->space, ask);
        int r = space_check_detail(base->space, of.ranges[QUERY_EVENT_TIME].low,
                                   of.ranges[QUERY_EVENT_TIME].high, reterr);

        if (r < 0)
                return r;
        x->q = space_borrow(base->space);
        query_event_rows_open(x->q, &of, &x->rows);
        row_feed_begin(&x->feed, &(struct row_feed_source){.asked = base->space->trace.q,
                                                           .reader = x->q,
                                                           .fill = event_fill,
                                                           .ctx = x->rows,
                                                           .row_bytes = sizeof(*x->event)});
        return event_take(x, reterr);
}

static void event_end(struct sql_cursor *base) {
        struct event_cursor *x = (struct event_cursor *)base;

        row_feed_end(&x->feed);
        if (x->rows)
                base->space->is_inexact |= !query_event_rows_is_exact(x->rows);
        x->rows = query_event_rows_free(x->rows);
        space_return(base->space, x->q);
        x->q = NULL;
}

static void event_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        static const char *const ops[] = {"alloc", "free", "realloc"};
        const struct event_cursor *x = (const struct event_cursor *)base;
        const struct trace_event *e = x->event;
        bool is_realloc = e->op == TRACE_REALLOC;

        switch (column) {
        case EVENT_TIME: sql_result_count(to, e->time_ns); break;
        case EVENT_OP: sql_result_name(to, e->op == TRACE_OTHER ? "free" : ops[e->op]); break;
        case EVENT_PROCESS:
                if (e->thread < base->space->view->n_threads)
                        sql_result_count(to, base->space->view->threads[e->thread].start.process);
                break;
        case EVENT_THREAD:
                if (e->thread != TRACE_NO_THREAD)
                        sql_result_count(to, e->thread);
                break;
        case EVENT_BLOCK: sql_result_count(to, e->seq); break;
        case EVENT_BYTES: sql_result_count(to, e->size_bytes); break;
        case EVENT_STACK: sql_result_count(to, e->stack); break;
        case EVENT_STANDS_FOR: sql_result_count(to, e->n_blocks); break;
        case EVENT_OLD_BLOCK:
                if (is_realloc)
                        sql_result_count(to, e->old_seq);
                break;
        case EVENT_OLD_BYTES:
                if (is_realloc)
                        sql_result_count(to, e->old_size_bytes);
                break;
        case EVENT_OLD_STACK:
                if (is_realloc)
                        sql_result_count(to, e->old_stack);
                break;
        case EVENT_ADDRESS:
                if (e->address)
                        sqlite3_result_int64(to, (int64_t)e->address);
                break;
        case EVENT_FREED_STACK:
                if (e->free_stack)
                        sql_result_count(to, e->free_stack);
                break;
        default: break;
        }
}

static const struct sql_column event_columns[] = {
        [EVENT_TIME] = {"time_ns", "when", SQL_IS_RANGE | SQL_IS_SOUGHT, .part_below = part_before},
        [EVENT_OP] = {"op", "alloc, free or realloc", .type = "TEXT"},
        [EVENT_PROCESS] = {"process", "of the thread", SQL_IS_RANGE, n_processes},
        [EVENT_THREAD] = {"thread", "that did it", SQL_IS_RANGE, n_threads},
        [EVENT_BLOCK] = {"block", "allocated or freed; of realloc the new one", SQL_IS_RANGE},
        [EVENT_BYTES] = {"bytes", "of the block", SQL_IS_RANGE},
        [EVENT_STACK] = {"stack", "call path that allocated the block", SQL_IS_RANGE, n_stacks},
        [EVENT_STANDS_FOR] = {"stands_for",
                              "blocks of its size: 1, unless the recording is of samples"},
        [EVENT_OLD_BLOCK] = {"old_block", "of realloc: the block it freed"},
        [EVENT_OLD_BYTES] = {"old_bytes", "of the old block"},
        [EVENT_OLD_STACK] = {"old_stack", "call path that allocated the old block"},
        [EVENT_ADDRESS] = {"address", "of the block allocated, of run --addresses"},
        [EVENT_FREED_STACK] = {"freed_stack", "call path of the free, of run --free-stacks"},
};

const struct sql_table sql_events = {
        .name = "events",
        .is_of_memory = true,
        .help = "allocations and frees as they happened",
        SQL_COLUMNS(event_columns),
        .cursor_bytes = sizeof(struct event_cursor),
        .n_rows = n_events,
        .row_cost = 1,
        .n_read_at_once = n_in_slice,
        .begin = event_begin,
        .next = event_next,
        .column = event_column,
        .end = event_end,
};
