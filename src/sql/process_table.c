/* SPDX-License-Identifier: MIT */
/* processes, each image of a pid for itself; threads. */
#include <stdlib.h>

#include "base/str.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "show/show_json.h"
#include "sql/all_tables.h"

/* Both are numbered and small. */
struct number_cursor {
        struct sql_cursor c;
        size_t i, end;
};

static void number_settle(struct number_cursor *n) {
        n->c.rowid = (int64_t)n->i;
        n->c.is_eof = n->i >= n->end;
}

static int number_next(struct sql_cursor *base, struct err *reterr) {
        struct number_cursor *n = (struct number_cursor *)base;

        (void)reterr;
        n->i++;
        number_settle(n);
        return 0;
}

static void put_if(sqlite3_context *to, bool is_known, uint64_t value) {
        if (is_known)
                sql_result_count(to, value);
}

/* ---- processes --------------------------------------------------------------------------------- */

enum {
        PROCESS_ID,
        PROCESS_PID,
        PROCESS_IMAGE,
        PROCESS_PARENT,
        PROCESS_EXE,
        PROCESS_COMMAND,
        PROCESS_START_NS,
        PROCESS_END_NS,
        PROCESS_NAME,
        PROCESS_ENDED,
        PROCESS_FIRST_FIGURE,
        PROCESS_ALLOCATIONS = PROCESS_FIRST_FIGURE,
        PROCESS_ALLOCATED_BYTES,
        PROCESS_FREES,
        PROCESS_PEAK_BYTES,
        PROCESS_PEAK_NS,
        PROCESS_END_BYTES,
        PROCESS_END_BLOCKS,
        PROCESS_PEAK_RSS_BYTES,
        PROCESS_N_COLUMNS,
};

static double n_processes(struct sql_space *space) {
        return (double)space->view->n_processes;
}

static int process_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct number_cursor *n = (struct number_cursor *)base;
        const struct query_answer *whole;
        int r = 0;

        if (ask->columns_used >> PROCESS_FIRST_FIGURE)
                r = space_whole(base->space, &whole, reterr);
        if (r < 0)
                return r;
        sql_range_clip(&ask->ranges[PROCESS_ID], base->space->view->n_processes, &n->i, &n->end);
        number_settle(n);
        return 0;
}

static void put_command(const struct trace_process *p, sqlite3_context *to) {
        struct str command = {0};

        for (uint32_t k = 0; k < p->n_args; k++) {
                str_add(&command, k ? " " : "");
                str_add_shell(&command, p->args[k]);
        }
        sqlite3_result_text(to, str_text(&command), -1, SQLITE_TRANSIENT);
        str_done(&command);
}

static void put_process_figure(const struct sql_space *s, const struct query_totals *t,
                               sqlite3_context *to, int column) {
        bool has_memory = !query_is_of_time(s->trace.q),
             has_traffic = !t->lacks_traffic && has_memory,
             has_blocks = !t->lacks_blocks && has_memory, has_live = !t->lacks_live && has_memory;
        /* a source of bytes that counted no blocks saw what was live only, or what was allocated only */
        bool has_bytes = has_traffic &&
                         (has_blocks || t->lacks_live || s->view->meta.unit != TRACE_UNIT_BYTES);

        switch (column) {
        case PROCESS_ALLOCATIONS: put_if(to, has_blocks && has_traffic, t->n_allocs); break;
        case PROCESS_ALLOCATED_BYTES: put_if(to, has_bytes, t->alloc_bytes); break;
        case PROCESS_FREES: put_if(to, has_blocks && has_traffic && has_live, t->n_frees); break;
        case PROCESS_PEAK_BYTES: put_if(to, !t->lacks_peak && has_memory, t->peak_bytes); break;
        case PROCESS_PEAK_NS:
                put_if(to, !t->lacks_peak && !t->lacks_time && has_memory, t->peak_ns);
                break;
        case PROCESS_END_BYTES: put_if(to, has_live, t->end_bytes); break;
        case PROCESS_END_BLOCKS: put_if(to, has_blocks && has_live, t->end_blocks); break;
        case PROCESS_PEAK_RSS_BYTES: put_if(to, t->peak_rss_bytes, t->peak_rss_bytes); break;
        default: break;
        }
}

static void process_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct number_cursor *)base)->i;
        const struct sql_space *s = base->space;
        const struct trace_process_info *p = &s->view->processes[i];

        switch (column) {
        case PROCESS_ID: sql_result_count(to, i); break;
        case PROCESS_PID: put_if(to, origin_knows_pids(&s->view->meta), p->start.pid); break;
        case PROCESS_IMAGE: sqlite3_result_int64(to, p->start.image); break;
        case PROCESS_PARENT:
                put_if(to, p->start.parent != TRACE_NO_PROCESS, p->start.parent);
                break;
        case PROCESS_EXE: sql_result_name(to, p->start.exe); break;
        case PROCESS_COMMAND: put_command(&p->start, to); break;
        case PROCESS_START_NS: sqlite3_result_int64(to, (int64_t)p->start.start_ns); break;
        case PROCESS_END_NS:
                if (p->has_end)
                        sqlite3_result_int64(to, (int64_t)p->end.end_ns);
                break;
        case PROCESS_NAME: sql_result_name(to, query_process_name(s->trace.q, (uint32_t)i)); break;
        case PROCESS_ENDED: sql_result_name(to, show_ended_name(p->end.ended)); break;
        default:
                if (s->whole && i < s->whole->n_processes)
                        put_process_figure(s, &s->whole->processes[i], to, column);
        }
}

static const struct sql_column process_columns[] = {
        [PROCESS_ID] = {"id", "its number in this trace",
                        SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [PROCESS_PID] = {"pid", "as the system called it; NULL: unknown"},
        [PROCESS_IMAGE] = {"image", "1, and one more with each exec"},
        [PROCESS_PARENT] = {"parent", "processes.id"},
        [PROCESS_EXE] = {"exe", "the program's file", .type = "TEXT"},
        [PROCESS_COMMAND] = {"command", "as a shell takes it", .type = "TEXT"},
        [PROCESS_START_NS] = {"start_ns", "when it began"},
        [PROCESS_END_NS] = {"end_ns", "when it ended; NULL: unknown, or it did not end"},
        [PROCESS_NAME] = {"name", "the program's name, or the title it gave itself",
                          .type = "TEXT"},
        [PROCESS_ENDED] = {"ended", "exit, signal, oom, exec, recording-stopped, unknown",
                           .type = "TEXT"},
        [PROCESS_ALLOCATIONS] = {"allocations", "made"},
        [PROCESS_ALLOCATED_BYTES] = {"allocated_bytes", "by them"},
        [PROCESS_FREES] = {"frees", "made"},
        [PROCESS_PEAK_BYTES] = {"peak_bytes", "live at most, with what it inherited"},
        [PROCESS_PEAK_NS] = {"peak_ns", "when that was"},
        [PROCESS_END_BYTES] = {"end_bytes", "live at the end"},
        [PROCESS_END_BLOCKS] = {"end_blocks", "live at the end"},
        [PROCESS_PEAK_RSS_BYTES] = {"peak_rss_bytes", "resident at most, silt's own not counted"},
};

const struct sql_table sql_processes = {
        .name = "processes",
        .help = "processes between two execs",
        SQL_COLUMNS(process_columns),
        .cursor_bytes = sizeof(struct number_cursor),
        .n_rows = n_processes,
        .row_cost = 1,
        .begin = process_begin,
        .next = number_next,
        .column = process_column,
};

/* ---- threads ----------------------------------------------------------------------------------- */

enum {
        THREAD_ID,
        THREAD_PROCESS,
        THREAD_TID,
        THREAD_NAME,
        THREAD_START_NS,
        THREAD_FIRST_FIGURE,
        THREAD_ALLOCATIONS = THREAD_FIRST_FIGURE,
        THREAD_ALLOCATED_BYTES,
        THREAD_FREES,
        THREAD_TEMPORARY,
        THREAD_FOREIGN_FREES,
};

static double n_threads(struct sql_space *space) {
        return (double)space->view->n_threads;
}

/* A pass over all events, once. Recordings of totals have none, and no figures. */
static int read_figures(struct sql_space *s, struct err *reterr) {
        struct query_scope scope = space_scope(s);
        _cleanup_free_ struct query_thread *rows = NULL;
        struct query_thread *figures;
        bool has_figures = false;
        size_t n;
        int r;

        if (s->threads || s->view->meta.flags & TRACE_IS_TOTALS || query_is_of_time(s->trace.q))
                return 0;
        r = query_threads(s->trace.q, &scope, UINT64_MAX, &rows, &n, &has_figures, reterr);
        if (r < 0)
                return r;
        figures = calloc(s->view->n_threads + 1, sizeof(*figures));
        if (!figures)
                abort();
        for (size_t i = 0; i < s->view->n_threads; i++)
                figures[i].thread = TRACE_NO_THREAD; /* no figures */
        for (size_t i = 0; i < n && has_figures; i++)
                figures[rows[i].thread] = rows[i];
        s->is_inexact |= !has_figures;
        s->lacks_detail |= !has_figures && s->view->detail_from_ns > 0;
        s->threads = figures;
        return 0;
}

static int thread_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct number_cursor *n = (struct number_cursor *)base;
        int r = 0;

        if (ask->columns_used >> THREAD_FIRST_FIGURE)
                r = read_figures(base->space, reterr);
        if (r < 0)
                return r;
        sql_range_clip(&ask->ranges[THREAD_ID], base->space->view->n_threads, &n->i, &n->end);
        number_settle(n);
        return 0;
}

static void put_thread_figure(const struct query_thread *t, sqlite3_context *to, int column) {
        if (t->thread == TRACE_NO_THREAD)
                return;
        switch (column) {
        case THREAD_ALLOCATIONS: sql_result_count(to, t->n_allocs); break;
        case THREAD_ALLOCATED_BYTES: sql_result_count(to, t->alloc_bytes); break;
        case THREAD_FREES: sql_result_count(to, t->n_frees); break;
        case THREAD_TEMPORARY: sql_result_count(to, t->n_temporary); break;
        case THREAD_FOREIGN_FREES: sql_result_count(to, t->n_foreign_frees); break;
        default: break;
        }
}

static void thread_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        size_t i = ((const struct number_cursor *)base)->i;
        const struct sql_space *s = base->space;
        const struct trace_thread_info *t = &s->view->threads[i];

        switch (column) {
        case THREAD_ID: sql_result_count(to, i); break;
        case THREAD_PROCESS: sqlite3_result_int64(to, t->start.process); break;
        case THREAD_TID: sqlite3_result_int64(to, t->start.tid); break;
        case THREAD_NAME: sql_result_name(to, t->name); break;
        case THREAD_START_NS: sqlite3_result_int64(to, (int64_t)t->start.start_ns); break;
        default:
                if (s->threads && origin_knows_threads(s->view))
                        put_thread_figure(&s->threads[i], to, column);
        }
}

static const struct sql_column thread_columns[] = {
        [THREAD_ID] = {"id", "its number in this trace", SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [THREAD_PROCESS] = {"process", "processes.id", SQL_IS_EQUAL, n_processes},
        [THREAD_TID] = {"tid", "as the system called it"},
        [THREAD_NAME] = {"name", "as the program called it; empty: unknown", .type = "TEXT"},
        [THREAD_START_NS] = {"start_ns", "when it began"},
        [THREAD_ALLOCATIONS] = {"allocations", "made", SQL_IS_COSTLY},
        [THREAD_ALLOCATED_BYTES] = {"allocated_bytes", "by them", SQL_IS_COSTLY},
        [THREAD_FREES] = {"frees", "made, of whatever blocks", SQL_IS_COSTLY},
        [THREAD_TEMPORARY] = {"temporary", "allocations that were freed before the thread's next",
                              SQL_IS_COSTLY},
        [THREAD_FOREIGN_FREES] = {"foreign_frees", "of blocks that other threads allocated",
                                  SQL_IS_COSTLY},
};

const struct sql_table sql_threads = {
        .name = "threads",
        .help = "threads; their figures take a pass over the events",
        SQL_COLUMNS(thread_columns),
        .cursor_bytes = sizeof(struct number_cursor),
        .n_rows = n_threads,
        .row_cost = 1,
        .begin = thread_begin,
        .next = number_next,
        .column = thread_column,
};
