/* SPDX-License-Identifier: MIT */
#include "sql/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "sql/sql.h"
#include "sql/table.h"
#include "sql/text_function.h"

/* Names that a statement looks up while it is planned: SQLite's planner looks at no clock, and what it does grows faster than they do. */
enum { MAX_LOOKUPS = 20000, LOOKUPS_BETWEEN_LOOKS = 64 };
/* Calls that a statement contains. SQLite looks at no clock before its program jumps back, and each may take a millisecond. */
enum { MAX_CALLS = 1000 };

static _Thread_local char refusal[200];
static _Thread_local unsigned n_lookups, n_calls; /* of the statement that is planned */

const char *guard_refusal(void) {
        return refusal;
}

void guard_forget(void) {
        refusal[0] = '\0';
        n_lookups = n_calls = 0;
}

static int refuse(const char *what) {
        if (!refusal[0])
                snprintf(refusal, sizeof(refusal), "%s", what);
        return SQLITE_DENY;
}

int guard_prepare(sqlite3 *db) {
        static const struct {
                int limit, most;
        } limits[] = {
                {SQLITE_LIMIT_LENGTH, SQL_MAX_TEXT_BYTES},
                {SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_STATEMENT_BYTES},
                {SQLITE_LIMIT_COLUMN, 200},
                {SQLITE_LIMIT_EXPR_DEPTH, 200},
                {SQLITE_LIMIT_COMPOUND_SELECT, 50},
                {SQLITE_LIMIT_VDBE_OP, 25000},
                {SQLITE_LIMIT_FUNCTION_ARG, 50},
                {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
                {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                {SQLITE_LIMIT_WORKER_THREADS, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                sqlite3_limit(db, limits[i].limit, limits[i].most);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        /* "name" of a column that there is not would be a text, and compare with nothing */
        sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
        /* full-text search and the like */
        sqlite3_drop_modules(db, (const char *[]){"json_each", "json_tree", NULL});
        /* they are made when they are first named, which later nobody may */
        sqlite3_exec(db, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL, NULL, NULL);
        /* what does not fit into memory ends the statement and goes to no file */
        return sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
}

static bool is_listed(const char *name, const char *const *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (sqlite3_stricmp(name, list[i]) == 0)
                        return true;
        return false;
}

static bool is_table(const char *name) {
        /* SQLite's own that tell nothing but what is asked, or what tables there are */
        static const char *const harmless[] = {"json_each", "json_tree", "sqlite_master",
                                               "sqlite_schema"};

        for (size_t i = 0; sql_all_tables[i]; i++)
                if (sqlite3_stricmp(name, sql_all_tables[i]->name) == 0)
                        return true;
        return is_listed(name, harmless, ARRAY_SIZE(harmless));
}

/* Where no column of it is read, SQLite also tells the names that a statement gave to its own parts (WITH name AS …): those cannot be told from
 * tables but by what tables there are otherwise, and that is those that come with SQLite. */
static bool is_name_of_sqlite(const char *name) {
        return sqlite3_strnicmp(name, "pragma_", 7) == 0 ||
               sqlite3_strnicmp(name, "sqlite_", 7) == 0 || sqlite3_strnicmp(name, "silt_", 5) == 0;
}

static int may_read(const char *table, const char *column) {
        char text[160];

        if (is_table(table) || (!column[0] && !is_name_of_sqlite(table)))
                return SQLITE_OK;
        snprintf(text, sizeof(text), "%.100s is not a table of a trace", table);
        return refuse(text);
}

/* All that compute a value of their arguments alone, or are a time; none that takes long for what it is given (those are silt's own, text_function.c), makes
 * much of little (randomblob), or knows of files. */
static bool is_harmless_function(const char *name) {
        static const char *const harmless[] = {
                "abs",
                "avg",
                "ceil",
                "ceiling",
                "char",
                "coalesce",
                "count",
                "cume_dist",
                "current_date",
                "current_time",
                "current_timestamp",
                "date",
                "datetime",
                "dense_rank",
                "exp",
                "first_value",
                "floor",
                "format",
                "group_concat",
                "hex",
                "ifnull",
                "iif",
                "json",
                "json_array",
                "json_array_length",
                "json_extract",
                "json_group_array",
                "json_group_object",
                "json_object",
                "json_quote",
                "json_type",
                "json_valid",
                "->",
                "->>",
                "julianday",
                "lag",
                "last_value",
                "lead",
                "length",
                "likelihood",
                "likely",
                "ln",
                "log",
                "log10",
                "log2",
                "lower",
                "max",
                "min",
                "mod",
                "nth_value",
                "ntile",
                "nullif",
                "octet_length",
                "percent_rank",
                "pi",
                "pow",
                "power",
                "printf",
                "quote",
                "random",
                "rank",
                "round",
                "row_number",
                "sign",
                "sqlite_version",
                "sqrt",
                "strftime",
                "string_agg",
                "substr",
                "substring",
                "sum",
                "time",
                "total",
                "trunc",
                "typeof",
                "unicode",
                "unixepoch",
                "unlikely",
                "upper",
                "zeroblob",
        };

        return is_listed(name, harmless, ARRAY_SIZE(harmless));
}

static int may_call(const char *function) {
        const struct sql_function_info *ours;
        char text[160];
        size_t n;

        if (++n_calls > MAX_CALLS)
                return refuse("the statement is too large: it calls too many functions");
        if (is_harmless_function(function) || text_function_is(function))
                return SQLITE_OK;
        ours = sql_functions(&n);
        for (size_t i = 0; i < n; i++)
                if (sqlite3_stricmp(function, ours[i].name) == 0)
                        return SQLITE_OK;
        snprintf(text, sizeof(text), "%.100s() is not for questions about a trace", function);
        return refuse(text);
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *schema,
                     const char *inner) {
        (void)schema, (void)inner;
        n_lookups++;
        if (n_lookups > MAX_LOOKUPS)
                return refuse("the statement is too large: it names too many tables and columns");
        if (n_lookups % LOOKUPS_BETWEEN_LOOKS == 0 && sql_must_stop(ctx))
                return SQLITE_DENY;
        switch (action) {
        case SQLITE_SELECT:
        case SQLITE_RECURSIVE: return SQLITE_OK;
        case SQLITE_READ: return may_read(a, b ? b : "");
        case SQLITE_FUNCTION: return may_call(b);
        case SQLITE_PRAGMA: return refuse("PRAGMA is not for questions about a trace");
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
                return refuse("ATTACH is not for questions about a trace: a second one is "
                              "given with --other FILE");
        default: return refuse("a trace is read-only: only SELECT is allowed");
        }
}

int guard_check(sqlite3_stmt *statement) {
        /* VACUUM and REINDEX ask nobody before they run */
        if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
                refuse("a trace is read-only: only SELECT is allowed");
        else if (sqlite3_stmt_isexplain(statement) == 1) /* tells addresses of this program */
                refuse("EXPLAIN alone is about SQLite: EXPLAIN QUERY PLAN says how a statement is answered");
        return refusal[0] ? SQLITE_AUTH : SQLITE_OK;
}

void guard_close(sqlite3 *db, struct sql *s) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_set_authorizer(db, authorize, s);
}
