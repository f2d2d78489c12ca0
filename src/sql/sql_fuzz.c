/* SPDX-License-Identifier: MIT */
/* Any text, asked of two recordings as statements of SQL: answered, or refused in one line, within the limits; nothing that a statement does changes what
 * the next one is told. Behind '!' they are stopped early, and asked of an engine of their own.
 *
 * seeds: src/sql/sql_seeds
 * covers: src/sql/guard.c src/sql/text_function.c src/sql/table.c src/sql/sql.c src/sql/row_feed.c
 * covers: src/sql/allocation_table.c src/sql/event_table.c src/sql/site_table.c src/sql/stack_table.c
 * covers: src/sql/code_table.c src/sql/process_table.c src/sql/function.c src/sql/path_function.c src/sql/timeline_table.c
 * covers: src/sql/aggregate.c src/sql/format_function.c src/sql/path_text.c src/sql/pattern_cache.c src/sql/window_sites.c
 * covers: src/sql/graph_table.c src/sql/node_table.c src/sql/space.c src/sql/finding_table.c src/sql/trace_table.c */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keep/testing/graph_trace.h"
#include "name/name.h"
#include "query/testing/fabric.h"
#include "sql/sql.h"
#include "trace/writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The second recording is a bounded one: of its first part there are sums and no events, and it has no room for a graph. */
enum { N_EVENTS = 300, N_BOUNDED_EVENTS = 1500, BOUND_BYTES = 8000 };
enum { MAX_STATEMENTS = 6, MAX_ROWS = 200, MAX_TIME_NS = 200000000, MAX_MEMORY_BYTES = 32 << 20 };

static struct sql *sql;
static struct sql_options options = {.process = QUERY_ALL,
                                     .max_memory_bytes = MAX_MEMORY_BYTES,
                                     .max_time_ns = MAX_TIME_NS};
static int64_t n_allocations; /* of the first one */

static void make_trace(char *path, uint64_t seed, bool is_bounded) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 12,
                                         .slice_events = 40,
                                         .max_processes = 3,
                                         .max_threads = 2,
                                         .checkpoint_every = 4,
                                         .max_step_us = 4000,
                                         .with_names = true,
                                         .with_paths = true,
                                         .passes_on = true};
        struct fabric *f;
        struct draw d = draw_from(seed);
        bytes_buf graph = {0};

        close(mkstemp(path));
        f = fabric_new(path, &o);
        if (is_bounded)
                trace_writer_bound(fabric_writer(f), BOUND_BYTES);
        fabric_run(f, is_bounded ? N_BOUNDED_EVENTS : N_EVENTS);
        if (is_bounded) {
                if (!trace_writer_n_thinned(fabric_writer(f)))
                        abort();
                fabric_end(f);
                return;
        }
        graph_trace_draw(&d, &graph);
        if (!trace_put_graph(fabric_writer(f),
                             &(struct trace_graph){.time_ns = fabric_now_ns(f), .n_bytes = graph.n},
                             graph.items))
                abort();
        vec_free(&graph);
        fabric_end(f);
}

static struct sql_trace open_trace(uint64_t seed, bool is_bounded) {
        char path[] = "/tmp/sql_fuzz.XXXXXX";
        struct sql_trace t = {.path = "t.silt"};
        struct err e = {0};

        make_trace(path, seed, is_bounded);
        if (query_open(path, &t.q, &e) < 0)
                abort();
        t.names = query_names(t.q);
        unlink(path);
        return t;
}

static int ask_allocations(int64_t *ret_n, struct err *reterr) {
        struct sql_rows *rows = NULL;
        int r = sql_prepare(sql, "SELECT count(*) FROM allocations", &rows, NULL, reterr);

        if (r < 0)
                return r;
        r = sql_next(rows, reterr);
        if (r == 1)
                *ret_n = sql_value(rows, 0).integer;
        sql_rows_free(rows);
        return r;
}

/* On a machine with much else to do this takes longer than a statement may. */
static int64_t count_allocations(void) {
        enum { MAX_TRIES = 20 };
        struct err e = {0};
        int64_t n = 0;
        int r = -ETIME;

        for (unsigned i = 0; i < MAX_TRIES && r == -ETIME; i++)
                r = ask_allocations(&n, &e);
        if (r != 1) {
                fprintf(stderr, "sql_fuzz: %s\n", e.text);
                abort();
        }
        return n;
}

static void open_sql(void) {
        struct err e = {0};
        size_t n;

        if (sql_open(&options, &sql, &e) < 0 || !sql_tables(sql, &n) || n == 0 ||
            !sql_has_other(sql))
                abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        (void)argc, (void)argv;
        options.trace = open_trace(1, false);
        options.other = open_trace(2, true);
        open_sql();
        n_allocations = count_allocations();
        return 0;
}

static void check_refused(int r, const struct err *e) {
        if (r >= 0 || !e->text[0] || strchr(e->text, '\n'))
                abort();
}

static void take_rows(struct sql_rows *rows) {
        size_t n_columns = sql_n_columns(rows), n_bytes = 0;
        struct err e = {0};
        int r = 1;

        for (size_t i = 0; sql_parameter(rows, i); i++)
                sql_bind(rows, sql_parameter(rows, i), i % 2 ? "7" : "@peak", &e);
        for (size_t i = 0; i < MAX_ROWS && (r = sql_next(rows, &e)) > 0; i++)
                for (size_t k = 0; k < n_columns; k++) {
                        struct sql_value v = sql_value(rows, k);

                        if ((v.kind == SQL_TEXT || v.kind == SQL_BLOB) && v.n_bytes)
                                n_bytes += v.n_bytes + (v.text[v.n_bytes - 1] == 'x');
                }
        if (r < 0)
                check_refused(r, &e);
        if (n_bytes > (size_t)SQL_MAX_TEXT_BYTES * MAX_ROWS * 256)
                abort();
}

/* What is from a table is of one that there is. */
static void check_origins(const struct sql_rows *rows) {
        struct sql_origin from;
        size_t n_tables;

        for (size_t i = 0; i < sql_n_columns(rows); i++) {
                const struct sql_table_info *t = sql_tables(sql, &n_tables);

                if (!sql_column_origin(rows, i, &from) || strncmp(from.table, "sqlite_", 7) == 0 ||
                    strncmp(from.table, "json_", 5) == 0)
                        continue;
                while (n_tables && strcmp(t->name, from.table) != 0)
                        t++, n_tables--;
                if (!n_tables)
                        abort();
        }
}

/* Not at once: something has been read by then. */
static bool stop_early(void *ctx, uint64_t n_rows_read) {
        unsigned *n_left = ctx;

        (void)n_rows_read;
        return --*n_left > 0;
}

static void ask_all(const char *at) {
        for (size_t i = 0; i < MAX_STATEMENTS && *at; i++) {
                struct sql_rows *rows = NULL;
                struct err e = {0};
                int r = sql_prepare(sql, at, &rows, &at, &e);

                if (r < 0) {
                        check_refused(r, &e);
                        break;
                }
                if (!rows)
                        break;
                if (sql_n_columns(rows) && strcmp(sql_column_name(rows, 0), "stop") == 0)
                        sql_interrupt(sql);
                check_origins(rows);
                take_rows(rows);
                sql_rows_free(rows);
        }
        (void)sql_doubts(sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1);
        bool is_stopped = size && data[0] == '!';
        unsigned n_left = 3;

        if (!text)
                abort();
        if (size) /* NULL of nothing */
                memcpy(text, data, size);
        text[size] = '\0';
        if (is_stopped)
                sql_set_progress(sql, stop_early, &n_left);
        ask_all(text + is_stopped);
        if (is_stopped) {
                sql_free(sql);
                open_sql();
        }
        free(text);
        if (count_allocations() != n_allocations)
                abort();
        return 0;
}
