/* SPDX-License-Identifier: MIT */
/* ticks: samples of time (docs/cpu.md), one row each. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "query/spent_time.h"
#include "sql/all_tables.h"
#include "sql/path_text.h"

enum {
        TICK_TIME,
        TICK_STATE,
        TICK_NS,
        TICK_SAMPLES,
        TICK_THREAD,
        TICK_PROCESS,
        TICK_STACK,
        TICK_FUNCTION,
        TICK_MODULE,
        TICK_PATH,
};

struct tick_cursor {
        struct sql_cursor c;
        VEC(struct trace_tick) rows; /* of the time that is asked about */
        struct sql_range stacks, threads;
        size_t i;
};

static double n_ticks(struct sql_space *space) {
        return 1000.0 * (double)space->view->end_ns / 1e9 + 100;
}

static void tick_settle(struct tick_cursor *t) {
        t->c.rowid = (int64_t)t->i;
        t->c.is_eof = t->i >= t->rows.n;
}

static int tick_next(struct sql_cursor *base, struct err *reterr) {
        struct tick_cursor *t = (struct tick_cursor *)base;

        (void)reterr;
        t->i++;
        tick_settle(t);
        return 0;
}

static void tick_end(struct sql_cursor *base) {
        vec_free(&((struct tick_cursor *)base)->rows);
}

static bool take_tick(void *ctx, const struct trace_tick *tick) {
        struct tick_cursor *t = ctx;

        if (sql_range_has(&t->stacks, tick->stack) && sql_range_has(&t->threads, tick->thread))
                vec_push(&t->rows, *tick);
        return true;
}

static int tick_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct tick_cursor *t = (struct tick_cursor *)base;
        const struct sql_range *times = &ask->ranges[TICK_TIME];
        struct query_scope scope = space_scope(base->space);
        int r = 0;

        if (!query_has_ticks(base->space->trace.q))
                return err_set(
                        reterr, -ENODATA,
                        "%s has no samples of time: record with 'silt cpu run' or 'silt run --cpu'",
                        base->space->trace.path);
        vec_clear(&t->rows);
        t->stacks = ask->ranges[TICK_STACK];
        t->threads = ask->ranges[TICK_THREAD];
        if (times->is_set && times->low > 0)
                scope.from_ns = (uint64_t)times->low;
        if (times->is_set && times->high < INT64_MAX)
                scope.to_ns = times->high < 0 ? 0 : (uint64_t)times->high + 1;
        if (scope.from_ns < scope.to_ns)
                r = query_each_tick(base->space->trace.q, &scope, take_tick, t, reterr);
        t->i = 0;
        tick_settle(t);
        return r;
}

struct innermost {
        struct query_frame frame;
};

static bool take_innermost(void *ctx, const struct query_frame *f) {
        ((struct innermost *)ctx)->frame = *f;
        return false;
}

static const char *state_name(uint8_t state) {
        return state == TRACE_ON_CPU ? "cpu" : state == TRACE_BLOCKED ? "blocked" : "ready";
}

static void tick_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct tick_cursor *t = (const struct tick_cursor *)base;
        const struct trace_tick *x = &t->rows.items[t->i];
        struct sql_space *s = base->space;
        struct innermost in = {{.function = "", .file = "", .module = ""}};

        if (column == TICK_MODULE)
                query_each_frame(s->trace.q, x->stack, take_innermost, &in);
        switch (column) {
        case TICK_TIME: sql_result_count(to, x->time_ns); break;
        case TICK_STATE: sql_result_name(to, state_name(x->state)); break;
        case TICK_NS: sql_result_count(to, x->weight_ns); break;
        case TICK_SAMPLES: sql_result_count(to, x->n_samples); break;
        case TICK_THREAD: sqlite3_result_int64(to, x->thread); break;
        case TICK_PROCESS:
                sqlite3_result_int64(to, s->view->threads[x->thread].start.process);
                break;
        case TICK_STACK: sqlite3_result_int64(to, x->stack); break;
        case TICK_FUNCTION:
                sqlite3_result_text(to, path_innermost(s, x->stack), -1, SQLITE_TRANSIENT);
                break;
        case TICK_MODULE: sql_result_name(to, in.frame.module); break;
        case TICK_PATH:
                sqlite3_result_text(to, path_whole(s, x->stack), -1, SQLITE_TRANSIENT);
                break;
        default: break;
        }
}

static const struct sql_column tick_columns[] = {
        [TICK_TIME] = {"time_ns", "when the thread was looked at; of a wait, its end",
                       SQL_IS_RANGE | SQL_IS_SOUGHT},
        [TICK_STATE] = {"state", "cpu: it ran; blocked: it waited; ready: others ran",
                        .type = "TEXT"},
        [TICK_NS] = {"weight_ns", "the time that it stands for"},
        [TICK_SAMPLES] = {"samples", "how many it is"},
        [TICK_THREAD] = {"thread", "threads.id", SQL_IS_RANGE},
        [TICK_PROCESS] = {"process", "processes.id"},
        [TICK_STACK] = {"stack", "the call path: stacks.id", SQL_IS_RANGE},
        [TICK_FUNCTION] = {"function", "where it was: the innermost", .type = "TEXT"},
        [TICK_MODULE] = {"module", "the file that is in", .type = "TEXT"},
        [TICK_PATH] = {"path", "all functions of the call path in one text, the innermost first",
                       .type = "TEXT"},
};

const struct sql_table sql_ticks = {
        .name = "ticks",
        .help = "samples of time: where threads ran and waited",
        SQL_COLUMNS(tick_columns),
        .cursor_bytes = sizeof(struct tick_cursor),
        .n_rows = n_ticks,
        .row_cost = 2,
        .begin = tick_begin,
        .next = tick_next,
        .column = tick_column,
        .end = tick_end,
};
