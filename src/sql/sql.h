/* SPDX-License-Identifier: MIT */
/* SQL over a trace: SQLite whose tables are views of query/, read when they are asked for. docs/sql.md tells the tables, the functions
 * and what is refused.
 *
 *   sql_open(&(struct sql_options){.trace = {q, names, "server.silt"}}, &s, &err);
 *   sql_prepare(s, "SELECT function, end_bytes FROM sites", &rows, &rest, &err);
 *   while ((r = sql_next(rows, &err)) > 0)
 *           for (size_t i = 0; i < sql_n_columns(rows); i++)
 *                   put(sql_value(rows, i));
 *   sql_rows_free(rows);
 *   sql_free(s);
 *
 * The text of a statement is hostile: it reads the tables and nothing else, within limits. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "query/query.h"

struct sql;
struct sql_rows;

enum {
        SQL_MAX_MEMORY_BYTES = 256 << 20,
        SQL_MAX_TEXT_BYTES = 1 << 20,
        SQL_MAX_STATEMENT_BYTES = 128 << 10
};

/* A trace that is open. Both must live as long as the engine; nobody else asks the query meanwhile. */
struct sql_trace {
        struct query *q; /* NULL: there is none */
        struct names *names;
        const char *path; /* for sentences */
};

struct sql_options {
        struct sql_trace trace;
        struct sql_trace other; /* its tables are other.sites and so on */
        uint32_t process;       /* that tables of figures are about, or QUERY_ALL */
        uint64_t
                max_memory_bytes; /* of all statements of this program together; 0: SQL_MAX_MEMORY_BYTES */
        uint64_t max_time_ns; /* of a statement; 0: no limit */
};

int sql_open(const struct sql_options *o, struct sql **ret, struct err *reterr);
struct sql *sql_free(struct sql *s); /* NULL ok; returns NULL; after its rows */
DEFINE_CLEANUP(struct sql, sql_free)

/* Called now and then while a statement runs, with the rows read so far; false: stop, with -ECANCELED. */
typedef bool (*sql_progress_fn)(void *ctx, uint64_t n_rows_read);
void sql_set_progress(struct sql *s, sql_progress_fn fn, void *ctx);
/* Ends the statement that runs with -ECANCELED. From a signal handler or another thread. */
void sql_interrupt(struct sql *s);

/* The first statement of a text; *ret_rest (NULL: never mind) is what follows it. *ret is NULL where there is nothing but blanks and
 * comments. */
int sql_prepare(struct sql *s, const char *text, struct sql_rows **ret, const char **ret_rest,
                struct err *reterr);
struct sql_rows *sql_rows_free(struct sql_rows *rows); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct sql_rows, sql_rows_free)

/* Whether a text ends with a whole statement: behind a ';' that is in no quotes and no comment. */
bool sql_is_complete(const char *text);

/* A parameter of a statement (":since"), by its name without the colon: bound as a whole number where the text is one, else as text. -ENOENT:
 * the statement has no such parameter. */
int sql_bind(struct sql_rows *rows, const char *name, const char *text, struct err *reterr);
/* The name of parameter i, from 0 on, without the colon; NULL: there are no more. "" of those without a name. */
const char *sql_parameter(const struct sql_rows *rows, size_t i);

size_t sql_n_columns(const struct sql_rows *rows);
const char *sql_column_name(const struct sql_rows *rows, size_t column);
const struct query *sql_query(const struct sql_rows *rows); /* of the first trace */

/* Where the values of a column are from, if it is a column of a table and nothing was made of it. False: it is not known. */
struct sql_origin {
        bool is_other; /* of the second trace */
        const char *table, *column;
};
bool sql_column_origin(const struct sql_rows *rows, size_t column, struct sql_origin *ret);

struct sql_value {
        enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB } kind;
        int64_t integer;
        double real;
        const char *text; /* of texts and blobs, with a NUL behind; valid until the next row */
        size_t n_bytes;
};
/* 1 and a row, 0 behind the last one, or -errno: -ECANCELED, -ETIME, -ENOMEM where a limit was reached. */
int sql_next(struct sql_rows *rows, struct err *reterr);
struct sql_value sql_value(const struct sql_rows *rows, size_t column);

/* What limits the answers given so far, as a sentence: parts of the trace that are missing, figures that are estimates. "" nothing. */
const char *sql_doubts(struct sql *s);

/* ---- what there is ---------------------------------------------------------------------------- */

/* For completion and help. */
struct sql_column_info {
        const char *name, *help;
        bool is_argument; /* table(argument, …) */
};
struct sql_table_info {
        const char *name, *help;
        const struct sql_column_info *columns;
        size_t n_columns;
};
/* The conditions that a table takes by itself, of a plan that EXPLAIN QUERY PLAN shows behind "VIRTUAL TABLE INDEX 0:": " where stack = …". */
struct str;
void sql_add_conditions(const struct sql_table_info *t, const char *plan, struct str *to);
bool sql_has_other(const struct sql *s); /* a second trace */
const struct sql_table_info *sql_tables(const struct sql *s, size_t *ret_n);

struct sql_function_info {
        const char *name;  /* stack_text */
        const char *usage; /* stack_text(STACK) */
        const char *help;
};
const struct sql_function_info *sql_functions(size_t *ret_n);
