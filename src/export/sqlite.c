/* SPDX-License-Identifier: MIT */
/* sqlite: the trace as tables, for questions that no view answers. SQLite wants a file of its own that it can seek in, so it is made
 * beside and copied to where it belongs. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/str.h"
#include "export/export_job.h"
#include "export/site_frame.h"
#include "query/cursor.h"
#include "query/trace_origin.h"

enum { SQLITE_COPY_BYTES = 1 << 20, SQLITE_MAX_INLINED = 256, SQLITE_MAX_COLUMNS = 20 };

/* One value of a row. */
struct cell {
        enum { CELL_INT, CELL_TEXT, CELL_NULL } kind;
        int64_t number;
        const char *text;
};

#define INT(v)                                                                                     \
        { .kind = CELL_INT, .number = (int64_t)(v) }
#define TEXT(v)                                                                                    \
        { .kind = CELL_TEXT, .text = (v) }
#define INT_OR_NULL(has, v)                                                                        \
        { .kind = (has) ? CELL_INT : CELL_NULL, .number = (int64_t)(v) }

struct tables {
        struct export_job *job;
        sqlite3 *db;
        sqlite3_stmt *row; /* of the table that is being filled */
        int failed;        /* the first error of SQLite, 0: none */
};

static const char schema[] =
        "CREATE TABLE trace (key TEXT PRIMARY KEY, value);"
        "CREATE TABLE processes (id INTEGER PRIMARY KEY, pid INTEGER, image INTEGER, parent INTEGER,"
        " exe TEXT, command TEXT, start_ns INTEGER, end_ns INTEGER);"
        "CREATE TABLE threads (id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name TEXT, start_ns INTEGER);"
        "CREATE TABLE modules (id INTEGER PRIMARY KEY, path TEXT, build_id TEXT);"
        "CREATE TABLE frames (location INTEGER, depth INTEGER, function TEXT, file TEXT, line INTEGER,"
        " module INTEGER, address INTEGER, is_inlined INTEGER, PRIMARY KEY (location, depth)) WITHOUT ROWID;"
        "CREATE TABLE stacks (id INTEGER PRIMARY KEY, parent INTEGER, location INTEGER);"
        "CREATE TABLE sites (stack INTEGER PRIMARY KEY, allocations INTEGER, allocated_bytes INTEGER, frees INTEGER,"
        " freed_bytes INTEGER, peak_blocks INTEGER, peak_bytes INTEGER, start_blocks INTEGER, start_bytes INTEGER,"
        " end_blocks INTEGER, end_bytes INTEGER, temporary INTEGER, reallocations INTEGER,"
        " function TEXT, file TEXT, line INTEGER, module TEXT);"
        "CREATE TABLE events (time_ns INTEGER, op TEXT, process INTEGER, thread INTEGER, block INTEGER, bytes INTEGER,"
        " stack INTEGER, stands_for INTEGER, old_block INTEGER, old_bytes INTEGER, old_stack INTEGER, address INTEGER);"
        "CREATE TABLE notes (time_ns INTEGER, text TEXT);";

/* Indexes come last: that is faster than keeping them while rows come in. */
static const char afterwards[] =
        "CREATE INDEX stacks_parent ON stacks (parent);"
        "CREATE INDEX sites_function ON sites (function);"
        "CREATE INDEX events_block ON events (block);"
        "CREATE INDEX events_stack ON events (stack);"
        "CREATE VIEW functions AS SELECT function, module, sum(allocations) AS allocations,"
        " sum(allocated_bytes) AS allocated_bytes, sum(peak_bytes) AS peak_bytes, sum(end_bytes) AS end_bytes,"
        " sum(end_blocks) AS end_blocks, sum(temporary) AS temporary, count(*) AS sites FROM sites"
        " GROUP BY function, module;"
        "CREATE VIEW call_paths AS WITH RECURSIVE up (stack, at, level) AS ("
        " SELECT id, id, 0 FROM stacks UNION ALL"
        " SELECT up.stack, stacks.parent, up.level + 1 FROM up JOIN stacks ON stacks.id = up.at"
        " WHERE stacks.parent <> 0)"
        " SELECT up.stack, up.level, frames.depth, frames.function, frames.file, frames.line,"
        " ifnull(modules.path, '') AS module, frames.is_inlined, frames.location FROM up"
        " JOIN stacks ON stacks.id = up.at JOIN frames ON frames.location = stacks.location"
        " LEFT JOIN modules ON modules.id = frames.module;";

static void check(struct tables *t, int result) {
        if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW && !t->failed)
                t->failed = result;
}

static void run(struct tables *t, const char *sql) {
        check(t, sqlite3_exec(t->db, sql, NULL, NULL, NULL));
}

static void begin_table(struct tables *t, const char *name, size_t n_columns) {
        struct str sql = {0};

        str_addf(&sql, "INSERT OR REPLACE INTO %s VALUES (", name);
        for (size_t i = 0; i < n_columns; i++)
                str_add(&sql, i ? ",?" : "?");
        str_add(&sql, ")");
        check(t, sqlite3_prepare_v2(t->db, str_text(&sql), -1, &t->row, NULL));
        str_done(&sql);
}

static void end_table(struct tables *t) {
        sqlite3_finalize(t->row);
        t->row = NULL;
}

static void put_row(struct tables *t, const struct cell *cells, size_t n) {
        if (t->failed)
                return;
        for (size_t i = 0; i < n; i++) {
                int column = (int)i + 1;

                if (cells[i].kind == CELL_INT)
                        sqlite3_bind_int64(t->row, column, cells[i].number);
                else if (cells[i].kind == CELL_TEXT && cells[i].text)
                        sqlite3_bind_text(t->row, column, cells[i].text, -1, SQLITE_TRANSIENT);
                else
                        sqlite3_bind_null(t->row, column);
        }
        check(t, sqlite3_step(t->row));
        sqlite3_reset(t->row);
        t->job->told->n_rows++;
}
#define PUT_ROW(t, ...)                                                                            \
        do {                                                                                       \
                const struct cell cells[] = {__VA_ARGS__};                                         \
                put_row(t, cells, ARRAY_SIZE(cells));                                              \
        } while (0)

/* ---- definitions ------------------------------------------------------------------------------- */

static void put_trace(struct tables *t, const struct query_answer *a) {
        const struct trace_view *v = t->job->view;
        struct str command = {0};

        for (uint32_t i = 0; i < v->meta.n_args; i++) {
                str_add(&command, i ? " " : "");
                str_add_shell(&command, v->meta.args[i]);
        }
        begin_table(t, "trace", 2);
        PUT_ROW(t, TEXT("schema"), TEXT("silt.sqlite/1"));
        PUT_ROW(t, TEXT("command"), TEXT(str_text(&command)));
        PUT_ROW(t, TEXT("started_unix_ns"), INT(v->meta.started_unix_ns));
        PUT_ROW(t, TEXT("from_ns"), INT(a->scope.from_ns));
        PUT_ROW(t, TEXT("to_ns"), INT(MIN(a->scope.to_ns, v->end_ns)));
        PUT_ROW(t, TEXT("unit"), TEXT(query_unit_name(t->job->q)));
        PUT_ROW(t, TEXT("sample_bytes"), INT(query_estimate_bytes(t->job->q)));
        PUT_ROW(t, TEXT("has_blocks"), INT(!(v->meta.flags & TRACE_IS_TOTALS)));
        PUT_ROW(t, TEXT("has_times"), INT(!(v->meta.flags & TRACE_LACKS_TIME)));
        end_table(t);
        str_done(&command);
}

static void put_processes(struct tables *t) {
        const struct trace_view *v = t->job->view;

        begin_table(t, "processes", 8);
        for (size_t i = 0; i < v->n_processes; i++) {
                const struct trace_process_info *p = &v->processes[i];
                struct str command = {0};

                for (uint32_t k = 0; k < p->start.n_args; k++) {
                        str_add(&command, k ? " " : "");
                        str_add_shell(&command, p->start.args[k]);
                }
                PUT_ROW(t, INT(i), INT_OR_NULL(origin_knows_pids(&v->meta), p->start.pid),
                        INT(p->start.image),
                        INT_OR_NULL(p->start.parent != TRACE_NO_PROCESS, p->start.parent),
                        TEXT(p->start.exe), TEXT(str_text(&command)), INT(p->start.start_ns),
                        INT_OR_NULL(p->has_end, p->end.end_ns));
                str_done(&command);
        }
        end_table(t);
        begin_table(t, "threads", 5);
        for (size_t i = 0; i < v->n_threads; i++)
                PUT_ROW(t, INT(i), INT(v->threads[i].start.process), INT(v->threads[i].start.tid),
                        TEXT(v->threads[i].name), INT(v->threads[i].start.start_ns));
        end_table(t);
}

static void put_modules(struct tables *t) {
        const struct trace_view *v = t->job->view;

        begin_table(t, "modules", 3);
        for (size_t i = 0; i < v->n_modules; i++) {
                const struct trace_module *m = &v->modules[i];
                char build_id[2 * sizeof(m->build_id) + 1] = "";

                for (uint32_t k = 0; k < m->build_id_len; k++)
                        snprintf(build_id + 2 * k, 3, "%02x", m->build_id[k]);
                PUT_ROW(t, INT(i), TEXT(m->path), TEXT(build_id));
        }
        end_table(t);
}

static void put_code(struct tables *t) {
        const struct trace_view *v = t->job->view;
        struct query_frame frames[SQLITE_MAX_INLINED];

        begin_table(t, "frames", 8);
        for (uint32_t i = 0; i < v->n_locations; i++) {
                const struct trace_location *l = &v->locations[i];
                size_t n = MIN(query_known_frames(t->job->q, i, frames, SQLITE_MAX_INLINED),
                               (size_t)SQLITE_MAX_INLINED);

                for (size_t k = 0; k < n; k++)
                        PUT_ROW(t, INT(i), INT(k), TEXT(frames[k].function), TEXT(frames[k].file),
                                INT_OR_NULL(frames[k].line, frames[k].line),
                                INT_OR_NULL(l->module < v->n_modules, l->module), INT(l->offset),
                                INT(frames[k].inlined));
        }
        end_table(t);
        begin_table(t, "stacks", 3);
        for (size_t i = 1; i < v->n_stacks; i++)
                PUT_ROW(t, INT(i), INT(v->stacks[i].parent), INT(v->stacks[i].location));
        end_table(t);
}

static void put_notes(struct tables *t) {
        begin_table(t, "notes", 2);
        for (size_t i = 0; i < t->job->view->n_notes; i++)
                PUT_ROW(t, INT(t->job->view->notes[i].time_ns), TEXT(t->job->view->notes[i].text));
        end_table(t);
}

/* ---- figures ----------------------------------------------------------------------------------- */

static void put_sites(struct tables *t, const struct query_answer *a) {
        bool has_blocks = !(t->job->view->meta.flags & TRACE_LACKS_BLOCKS);
        bool has_traffic = !(t->job->view->meta.flags & TRACE_LACKS_TRAFFIC);
        bool has_peak = !(t->job->view->meta.flags & TRACE_LACKS_PEAK);
        bool has_live = !(t->job->view->meta.flags & TRACE_LACKS_LIVE);
        bool has_reallocs = origin_knows_reallocs(&t->job->view->meta, a->totals.n_reallocs);

        begin_table(t, "sites", 17);
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;
                struct query_frame asked = site_frame(t->job->q, a->sites[i].stack);

                PUT_ROW(t, INT(a->sites[i].stack),
                        INT_OR_NULL(has_blocks && has_traffic, f->n_allocs),
                        INT_OR_NULL(has_traffic, f->alloc_bytes),
                        INT_OR_NULL(has_blocks && has_traffic && has_live, f->n_frees),
                        INT_OR_NULL(has_traffic && has_live, f->free_bytes),
                        INT_OR_NULL(has_peak && has_blocks, f->peak_blocks),
                        INT_OR_NULL(has_peak, f->peak_bytes),
                        INT_OR_NULL(has_blocks && has_live, f->begin_blocks),
                        INT_OR_NULL(has_live, f->begin_bytes),
                        INT_OR_NULL(has_blocks && has_live, f->end_blocks),
                        INT_OR_NULL(has_live, f->end_bytes),
                        INT_OR_NULL(!f->lacks_events, f->n_temporary),
                        INT_OR_NULL(has_reallocs, f->n_reallocs), TEXT(asked.function),
                        TEXT(asked.file), INT_OR_NULL(asked.line, asked.line), TEXT(asked.module));
        }
        end_table(t);
}

static void put_event(struct tables *t, const struct query_event *row) {
        static const char *const ops[] = {"alloc", "free", "realloc"};
        const struct trace_event *e = row->event;
        bool is_implicit = e->op == TRACE_OTHER && e->other == TRACE_IMPLICIT_FREE;
        bool is_realloc = e->op == TRACE_REALLOC;

        if (e->op == TRACE_OTHER && !is_implicit)
                return;
        PUT_ROW(t, INT(e->time_ns), TEXT(is_implicit ? "free" : ops[e->op]),
                INT_OR_NULL(row->process != TRACE_NO_PROCESS, row->process),
                INT_OR_NULL(e->thread != TRACE_NO_THREAD, e->thread), INT(e->seq),
                INT(e->size_bytes), INT(e->stack), INT(e->n_blocks),
                INT_OR_NULL(is_realloc, e->old_seq), INT_OR_NULL(is_realloc, e->old_size_bytes),
                INT_OR_NULL(is_realloc, e->old_stack), INT_OR_NULL(e->address, e->address));
}

static int put_events(struct tables *t, struct err *reterr) {
        struct query_cursor *c = NULL;
        const struct query_row *row;
        int r;

        if (t->job->view->meta.flags & TRACE_IS_TOTALS ||
            t->job->view->detail_from_ns > t->job->scope.from_ns) {
                export_tell_events_left_out(t->job);
                return 0;
        }
        begin_table(t, "events", 12);
        r = query_cursor_open(t->job->q, &t->job->scope, QUERY_ROWS_EVENTS, &c, reterr);
        while (r >= 0 && !t->failed && (r = query_cursor_next(c, &row, reterr)) > 0)
                put_event(t, &row->event);
        query_cursor_free(c);
        end_table(t);
        return r;
}

static int fill(struct tables *t, struct err *reterr) {
        struct query_answer *a = NULL;
        int r = query_ask(t->job->q, &t->job->scope, &a, reterr);

        if (r < 0)
                return r;
        run(t, "PRAGMA journal_mode=OFF");
        run(t, "PRAGMA synchronous=OFF");
        run(t, "PRAGMA cache_size=-16000");
        run(t, schema);
        run(t, "BEGIN");
        put_trace(t, a);
        put_processes(t);
        put_modules(t);
        put_code(t);
        put_notes(t);
        put_sites(t, a);
        query_answer_free(a);
        r = put_events(t, reterr);
        if (r < 0)
                return r;
        run(t, "COMMIT");
        run(t, afterwards);
        return t->failed ? err_set(reterr, -EIO, "cannot write the database: %s",
                                   sqlite3_errstr(t->failed))
                         : 0;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static int copy(int fd, FILE *out, struct err *reterr) {
        char *buf = malloc(SQLITE_COPY_BYTES);
        ssize_t n;

        if (!buf)
                abort();
        while ((n = read(fd, buf, SQLITE_COPY_BYTES)) > 0)
                fwrite(buf, 1, (size_t)n, out);
        free(buf);
        return n < 0 ? err_set_errno(reterr, -errno, "cannot read the database again") : 0;
}

int export_sqlite(struct export_job *job, struct err *reterr) {
        struct tables t = {.job = job};
        const char *dir = getenv("TMPDIR");
        struct str path = {0};
        int fd, r;

        str_addf(&path, "%s/silt-XXXXXX", dir && dir[0] ? dir : "/var/tmp");
        str_text(&path);
        fd = mkostemp(path.bytes, O_CLOEXEC);
        if (fd < 0) {
                r = err_set_errno(reterr, -errno, "cannot make a file like '%s'", path.bytes);
                str_done(&path);
                return r;
        }
        r = sqlite3_open(path.bytes, &t.db) == SQLITE_OK
                    ? fill(&t, reterr)
                    : err_set(reterr, -EIO, "cannot open a database: %s", sqlite3_errmsg(t.db));
        sqlite3_close(t.db);
        if (r >= 0)
                r = copy(fd, job->out, reterr);
        unlink(path.bytes);
        close(fd);
        str_done(&path);
        job->told->rows = "rows";
        return r;
}
