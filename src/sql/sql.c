/* SPDX-License-Identifier: MIT */
/* The engine: an SQLite database in memory that holds nothing but tables over traces. */
#include "sql/sql.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system_clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "show/view.h"
#include "sql/format_function.h"
#include "sql/function.h"
#include "sql/guard.h"
#include "sql/space_graph.h"
#include "sql/table.h"
#include "sql/text_function.h"
#include "trace/being_written.h"
#include "trace/limit.h"

/* Of SQLite's machine: some ten microseconds, or a hundred times as long where each makes a text of a megabyte. */
enum { PROGRESS_STEPS = 1000 };
enum { MEMORY_LOOK_NS = 20000000 };

struct sql {
        sqlite3 *db;
        struct sql_space main, other;
        uint64_t max_memory_bytes, max_time_ns;
        uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
        atomic_bool is_interrupted;
        bool is_planning, is_late, is_large;
        const char *argument, *argument_of; /* sql_note_argument; NULL: none */
        /* what silt itself has, beside SQLite: looked at now and then */
        uint64_t begun_bytes, looked_ns;
        uint64_t own_work_bytes; /* what it had when it began to work for itself */
        bool is_own_work;
        sql_progress_fn progress;
        void *progress_ctx;
        struct str doubts;
        VEC(struct sql_table_info) tables;
};

struct sql_rows {
        struct sql *sql;
        sqlite3_stmt *statement;
        bool is_begun;
};

/* ---- stopping ---------------------------------------------------------------------------------- */

/* Memory of this program's own, without the files that it has mapped: what tables keep is not SQLite's, whose limit is another. 0: not known. */
static uint64_t own_bytes(void) {
        unsigned long long n_pages = 0, n_resident = 0, n_of_files = 0;
        FILE *f = fopen("/proc/self/statm", "re");

        if (f && fscanf(f, "%llu %llu %llu", &n_pages, &n_resident, &n_of_files) != 3)
                n_resident = n_of_files = 0;
        if (f)
                fclose(f);
        return (n_resident - MIN(n_of_files, n_resident)) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look_at_memory(struct sql *s, uint64_t now) {
        if (s->is_own_work || now - s->looked_ns < MEMORY_LOOK_NS)
                return;
        s->looked_ns = now;
        if (own_bytes() > s->begun_bytes + s->max_memory_bytes)
                s->is_large = true;
}

void sql_begin_own_work(struct sql *s) {
        s->is_own_work = true;
        s->own_work_bytes = own_bytes();
}

void sql_end_own_work(struct sql *s) {
        uint64_t bytes = own_bytes();

        s->is_own_work = false;
        s->begun_bytes += bytes - MIN(bytes, s->own_work_bytes);
}

bool sql_must_stop(struct sql *s) {
        uint64_t now = clock_now_ns();

        look_at_memory(s, now);
        if (s->deadline_ns && now > s->deadline_ns)
                s->is_late = true;
        else if (s->progress &&
                 !s->progress(s->progress_ctx, s->main.n_rows_read + s->other.n_rows_read))
                atomic_store(&s->is_interrupted, true);
        return s->is_late || s->is_large || atomic_load(&s->is_interrupted);
}

static int on_sqlite_progress(void *ctx) {
        return sql_must_stop(ctx);
}

static bool on_query_progress(void *ctx, uint64_t done, uint64_t total) {
        (void)done, (void)total;
        return !sql_must_stop(ctx);
}

void sql_set_progress(struct sql *s, sql_progress_fn fn, void *ctx) {
        s->progress = fn;
        s->progress_ctx = ctx;
}

void sql_interrupt(struct sql *s) {
        atomic_store(&s->is_interrupted, true);
        sqlite3_interrupt(s->db);
}

/* ---- opening ----------------------------------------------------------------------------------- */

static void space_init(struct sql_space *to, struct sql *s, const char *schema,
                       const struct sql_trace *trace, uint32_t process) {
        *to = (struct sql_space){.sql = s,
                                 .schema = schema,
                                 .trace = *trace,
                                 .view = query_view(trace->q),
                                 .process = process};
        if (process == QUERY_ALL && to->view->n_processes < 2)
                to->process = query_main_process(trace->q); /* as all views do */
        query_set_progress(trace->q, on_query_progress, s);
}

static void list_tables(struct sql *s) {
        for (size_t i = 0; sql_all_tables[i]; i++) {
                const struct sql_table *t = sql_all_tables[i];
                struct sql_column_info *columns = calloc(t->n_columns, sizeof(*columns));

                if (!columns)
                        abort();
                for (size_t k = 0; k < t->n_columns; k++)
                        columns[k] =
                                (struct sql_column_info){t->columns[k].name, t->columns[k].help,
                                                         (t->columns[k].use & SQL_IS_ARGUMENT) !=
                                                                 0};
                vec_push(&s->tables,
                         (struct sql_table_info){t->name, t->help, columns, t->n_columns});
        }
}

static int make_tables(struct sql *s, const struct sql_options *o, struct err *reterr) {
        int r;

        space_init(&s->main, s, "main", &o->trace, o->process);
        r = table_create_all(s->db, &s->main, "main", reterr);
        if (r < 0 || !o->other.q)
                return r;
        space_init(&s->other, s, "other", &o->other, QUERY_ALL);
        if (sqlite3_exec(s->db, "ATTACH ':memory:' AS other", NULL, NULL, NULL) != SQLITE_OK)
                return err_set(reterr, -EINVAL, "cannot make the second trace's tables: %s",
                               sqlite3_errmsg(s->db));
        return table_create_all(s->db, &s->other, "other", reterr);
}

int sql_open(const struct sql_options *o, struct sql **ret, struct err *reterr) {
        _cleanup_(sql_freep) struct sql *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                abort();
        s->max_memory_bytes = o->max_memory_bytes ? o->max_memory_bytes : SQL_MAX_MEMORY_BYTES;
        s->max_time_ns = o->max_time_ns;
        sqlite3_hard_heap_limit64((sqlite3_int64)MIN(s->max_memory_bytes, (uint64_t)INT64_MAX));
        if (sqlite3_open_v2(":memory:", &s->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                            NULL) != SQLITE_OK ||
            guard_prepare(s->db) != SQLITE_OK)
                return err_set(reterr, -EINVAL, "SQLite does not start: %s",
                               s->db ? sqlite3_errmsg(s->db) : "no memory");
        r = make_tables(s, o, reterr);
        if (r >= 0)
                r = function_create_all(s->db, &s->main, &s->other, reterr);
        if (r >= 0)
                r = text_function_create_all(s->db, &s->main, reterr);
        if (r >= 0)
                r = format_function_create_all(s->db, reterr);
        if (r < 0)
                return r;
        guard_close(s->db, s);
        sqlite3_progress_handler(s->db, PROGRESS_STEPS, on_sqlite_progress, s);
        list_tables(s);
        *ret = TAKE_PTR(s);
        return 0;
}

struct sql *sql_free(struct sql *s) {
        if (!s)
                return NULL;
        sqlite3_close_v2(s->db);
        if (s->main.trace.q)
                query_set_progress(s->main.trace.q, NULL, NULL);
        if (s->other.trace.q)
                query_set_progress(s->other.trace.q, NULL, NULL);
        space_done(&s->main);
        space_done(&s->other);
        for (size_t i = 0; i < s->tables.n; i++)
                free((void *)s->tables.items[i].columns);
        vec_free(&s->tables);
        str_done(&s->doubts);
        free(s);
        return NULL;
}

/* ---- statements -------------------------------------------------------------------------------- */

static void begin_limits(struct sql *s) {
        guard_forget();
        s->is_late = s->is_large = false;
        s->argument = NULL;
        s->looked_ns = clock_now_ns();
        s->deadline_ns = s->max_time_ns ? s->looked_ns + s->max_time_ns : 0;
        s->begun_bytes = own_bytes();
}

void sql_note_argument(struct sql *s, const char *argument, const char *table) {
        s->argument = argument;
        s->argument_of = table;
}

/* As a sentence of silt's, not of SQLite's. */
static int sql_fail(struct sql *s, int code, struct err *reterr) {
        struct unit_text t;

        if (guard_refusal()[0])
                return err_set(reterr, -EPERM, "%s", guard_refusal());
        if (s->is_late)
                return err_set(reterr, -ETIME,
                               "the statement took longer than %.3g s: --max-time allows more",
                               (double)s->max_time_ns / 1e9);
        if (atomic_load(&s->is_interrupted))
                code = SQLITE_INTERRUPT;
        else if (s->is_large)
                code = SQLITE_NOMEM;
        if (s->is_planning && s->argument &&
            strcmp(sqlite3_errmsg(s->db), "no query solution") == 0)
                return err_set(reterr, -EINVAL, SQL_ARGUMENT_REFUSAL, s->argument, s->argument_of,
                               s->argument_of);
        switch (code) {
        case SQLITE_INTERRUPT: return err_set(reterr, -ECANCELED, "the statement was stopped");
        case SQLITE_NOMEM:
                if (sqlite3_memory_highwater(0) < (int64_t)s->max_memory_bytes / 2 &&
                    s->is_planning)
                        return err_set(reterr, -E2BIG, "the statement is too large");
                return err_set(
                        reterr, -ENOMEM,
                        "the statement needs more than %s of memory: --max-memory allows more",
                        unit_bytes(&t, s->max_memory_bytes));
        case SQLITE_TOOBIG:
                return s->is_planning ? err_set(reterr, -E2BIG, "the statement is larger than %s",
                                                unit_bytes(&t, SQL_MAX_STATEMENT_BYTES))
                                      : err_set(reterr, -E2BIG, "a value is larger than %s",
                                                unit_bytes(&t, SQL_MAX_TEXT_BYTES));
        default: return err_set(reterr, -EINVAL, "%s", sqlite3_errmsg(s->db));
        }
}

int sql_prepare(struct sql *s, const char *text, struct sql_rows **ret, const char **ret_rest,
                struct err *reterr) {
        sqlite3_stmt *statement = NULL;
        const char *rest = text;
        int r;

        *ret = NULL;
        begin_limits(s);
        s->is_planning = true;
        atomic_store(&s->is_interrupted, false);
        sqlite3_memory_highwater(1);
        /* blanks and comments before it are a statement of nothing */
        do {
                text = rest;
                r = sqlite3_prepare_v2(s->db, text, -1, &statement, &rest);
        } while (r == SQLITE_OK && !statement && rest != text && *rest);
        if (ret_rest)
                *ret_rest = rest;
        if (r == SQLITE_OK && statement)
                r = guard_check(statement);
        if (r != SQLITE_OK) {
                sqlite3_finalize(statement);
                return sql_fail(s, r, reterr);
        }
        if (!statement)
                return 0;
        *ret = calloc(1, sizeof(**ret));
        if (!*ret)
                abort();
        **ret = (struct sql_rows){.sql = s, .statement = statement};
        return 0;
}

bool sql_is_complete(const char *text) {
        return sqlite3_complete(text) == 1;
}

struct sql_rows *sql_rows_free(struct sql_rows *rows) {
        if (!rows)
                return NULL;
        sqlite3_finalize(rows->statement);
        free(rows);
        return NULL;
}

static bool is_whole_number(const char *text, int64_t *ret) {
        char *end;
        long long n;

        errno = 0;
        n = strtoll(text, &end, 10);
        *ret = n;
        return errno == 0 && end != text && *end == '\0';
}

int sql_bind(struct sql_rows *rows, const char *name, const char *text, struct err *reterr) {
        struct str colon = {0};
        int64_t number;
        int i;

        str_addf(&colon, ":%s", name);
        i = sqlite3_bind_parameter_index(rows->statement, str_text(&colon));
        str_done(&colon);
        if (i == 0)
                return err_set(reterr, -ENOENT, "the statement has no parameter :%s", name);
        if (is_whole_number(text, &number))
                sqlite3_bind_int64(rows->statement, i, number);
        else
                sqlite3_bind_text(rows->statement, i, text, -1, SQLITE_TRANSIENT);
        return 0;
}

const char *sql_parameter(const struct sql_rows *rows, size_t i) {
        const char *name;

        if (i >= (size_t)sqlite3_bind_parameter_count(rows->statement))
                return NULL;
        name = sqlite3_bind_parameter_name(rows->statement, (int)i + 1);
        return name ? name + 1 : "";
}

size_t sql_n_columns(const struct sql_rows *rows) {
        return (size_t)sqlite3_column_count(rows->statement);
}

const struct query *sql_query(const struct sql_rows *rows) {
        return rows->sql->main.trace.q;
}

const char *sql_column_name(const struct sql_rows *rows, size_t column) {
        const char *name = sqlite3_column_name(rows->statement, (int)column);

        return name ? name : "";
}

bool sql_column_origin(const struct sql_rows *rows, size_t column, struct sql_origin *ret) {
#if SQL_HAS_ORIGINS
        const char *schema = sqlite3_column_database_name(rows->statement, (int)column);
        const char *table = sqlite3_column_table_name(rows->statement, (int)column);
        const char *name = sqlite3_column_origin_name(rows->statement, (int)column);

        if (!schema || !table || !name)
                return false;
        *ret = (struct sql_origin){strcmp(schema, "other") == 0, table, name};
        return true;
#else
        (void)rows, (void)column, (void)ret;
        return false;
#endif
}

int sql_next(struct sql_rows *rows, struct err *reterr) {
        struct sql *s = rows->sql;
        int r;

        if (!rows->is_begun) {
                begin_limits(s);
                s->is_planning = false;
                s->main.n_rows_read = s->other.n_rows_read = 0;
                rows->is_begun = true;
        }
        r = sqlite3_step(rows->statement);
        if (r == SQLITE_ROW)
                return 1;
        return r == SQLITE_DONE ? 0 : sql_fail(s, r, reterr);
}

struct sql_value sql_value(const struct sql_rows *rows, size_t column) {
        sqlite3_stmt *x = rows->statement;
        int i = (int)column;

        switch (sqlite3_column_type(x, i)) {
        case SQLITE_INTEGER:
                return (struct sql_value){.kind = SQL_INTEGER,
                                          .integer = sqlite3_column_int64(x, i)};
        case SQLITE_FLOAT:
                return (struct sql_value){.kind = SQL_REAL, .real = sqlite3_column_double(x, i)};
        case SQLITE_TEXT: {
                const char *text = (const char *)sqlite3_column_text(x, i);

                return (struct sql_value){.kind = SQL_TEXT,
                                          .text = text ? text : "",
                                          .n_bytes = (size_t)sqlite3_column_bytes(x, i)};
        }
        case SQLITE_BLOB: {
                const char *bytes = sqlite3_column_blob(x, i);

                return (struct sql_value){.kind = SQL_BLOB,
                                          .text = bytes ? bytes : "",
                                          .n_bytes = (size_t)sqlite3_column_bytes(x, i)};
        }
        default: return (struct sql_value){.kind = SQL_NULL};
        }
}

/* ---- words ------------------------------------------------------------------------------------- */

static void add_cut_off(struct str *to, const struct sql_space *s) {
        str_addf(to, "%s%s: ", to->n ? " " : "", s->trace.path);
        view_add_unfinished(query_view(s->trace.q), false, to);
        str_add(to, ".");
}

/* What the other tool did not know, and which events were lost, as the report tells it first. */
static void add_limits(struct str *to, const struct sql_space *s) {
        const struct trace_view *v = s->view;
        struct trace_limit l;

        for (size_t i = 0; i < v->n_notes; i++) {
                size_t n;

                if (!trace_limit_parse(v->notes[i].text, &l) ||
                    (l.kind != LIMIT_IMPORTED && l.kind != LIMIT_LOST))
                        continue;
                n = strlen(l.text);
                str_addf(to, "%s%s: %.*s.", to->n ? " " : "", s->trace.path,
                         (int)(n && l.text[n - 1] == '.' ? n - 1 : n), l.text);
        }
        if (v->n_unwritten_events) {
                str_addf(to, "%s%s: ", to->n ? " " : "", s->trace.path);
                view_add_unwritten(v->n_unwritten_events, to);
                str_add(to, ".");
        }
}

static void add_doubts(struct str *to, const struct sql_space *s) {
        const char *damage;

        if (!s->trace.q)
                return;
        add_limits(to, s);
        damage = query_damage(s->trace.q);
        if (damage[0])
                str_addf(to, "%s%s: %s.", to->n ? " " : "", s->trace.path, damage);
        else if (!query_view(s->trace.q)->finished && !trace_is_being_written(s->trace.path))
                add_cut_off(to, s);
        else if (s->is_inexact && !s->lacks_detail && !s->lacks_heirs)
                str_addf(to, "%s%s: parts that were needed are missing.", to->n ? " " : "",
                         s->trace.path);
        if (s->is_moved)
                str_addf(
                        to,
                        "%s%s: the detail of old times was dropped, and a window that begins or ends in "
                        "them does so at the nearest moment that is known.",
                        to->n ? " " : "", s->trace.path);
        if (s->lacks_heirs)
                str_addf(
                        to,
                        "%s%s: blocks of processes that ended before their children are missing in "
                        "'live': ask with --process.",
                        to->n ? " " : "", s->trace.path);
        if (s->lacks_detail)
                str_addf(to,
                         "%s%s: single allocations are known from %.6g s on, older ones were "
                         "dropped to keep the file small.",
                         to->n ? " " : "", s->trace.path, (double)s->view->detail_from_ns / 1e9);
        if (s->tells_shares)
                str_addf(
                        to,
                        "%s%s: allocations of 'timeline' are approximate where a stretch begins or "
                        "ends within a quarter of a second that was not read event by event.",
                        to->n ? " " : "", s->trace.path);
        if (query_sample_bytes(s->trace.q))
                str_addf(
                        to,
                        "%s%s is a recording of samples: what is live, and all by call path, is an "
                        "estimate.%s",
                        to->n ? " " : "", s->trace.path,
                        s->tells_curve ? " The highest point of 'timeline' has what chance added "
                                         "to it, peak_bytes elsewhere do not."
                                       : "");
        space_graph_add_doubts(s, to);
}

const char *sql_doubts(struct sql *s) {
        str_clear(&s->doubts);
        add_doubts(&s->doubts, &s->main);
        add_doubts(&s->doubts, &s->other);
        return str_text(&s->doubts);
}

bool sql_has_other(const struct sql *s) {
        return s->other.trace.q != NULL;
}

const struct sql_table_info *sql_tables(const struct sql *s, size_t *ret_n) {
        *ret_n = s->tables.n;
        return s->tables.items;
}
