/* SPDX-License-Identifier: MIT */
/* A table of SQL: what its columns are, which conditions it can make use of, and how its rows are read. table.c makes an SQLite module of
 * it: it plans with honest costs, and hands the conditions down as ranges. SQLite checks every condition again, so a table may use less of
 * them than it is given, never more. Inside sql/ only.
 *
 *   static int marks_begin(struct sql_cursor *c, const struct sql_ask *ask, struct err *reterr);   // to the first row, or is_eof
 *   static int marks_next(struct sql_cursor *c, struct err *reterr);
 *   static void marks_column(struct sql_cursor *c, sqlite3_context *to, int column);
 *   static const struct sql_column marks_columns[] = {
 *           {"time_ns", "when it was made", SQL_IS_RANGE},
 *           {"name", "as it was given"},
 *   };
 *   const struct sql_table sql_marks = {"marks", "snapshots and marks", SQL_COLUMNS(marks_columns), .begin = marks_begin, …}; */
#pragma once

#include <sqlite3.h>

#include "base/macros.h"
#include "sql/space.h"
#include "sql/sql.h"

enum { SQL_MAX_COLUMNS = 40, SQL_MAX_ARGUMENTS = 4 };

enum sql_use {
        SQL_IS_ARGUMENT = 1u << 0, /* hidden: live(at) */
        SQL_IS_EQUAL = 1u << 1,    /* column = x spares rows; of texts as they are, byte by byte */
        SQL_IS_RANGE = 1u << 2,    /* so does column < x and the like; = too */
        SQL_IS_KEY = 1u << 3,      /* at most one row has a value; implies SQL_IS_EQUAL */
        /* what does not match is not even read: it spares work and not only rows */
        SQL_IS_SOUGHT = 1u << 4,
        SQL_IS_COSTLY =
                1u << 5, /* its values take a pass over the events, if any statement wants them */
        SQL_IS_TOLD =
                1u << 6, /* an argument that column() tells too: which it was, or the one taken */
};

struct sql_column {
        const char *name; /* with its unit */
        const char *help;
        unsigned use; /* enum sql_use */
        /* How many different values there are, about; NULL: ten. Of columns with SQL_IS_EQUAL */
        double (*n_values)(struct sql_space *space);
        const char *type; /* INTEGER where NULL */
        /* The part of the rows with a smaller value, about; NULL: nobody knows. Of one column of a table with SQL_IS_SOUGHT */
        double (*part_below)(struct sql_space *space, int64_t value);
};
#define SQL_COLUMNS(c) .columns = (c), .n_columns = ARRAY_SIZE(c)

/* What a condition leaves of a column of whole numbers. */
struct sql_range {
        int64_t low, high; /* both in it */
        bool is_set;
};

struct sql_ask {
        struct sql_range ranges[SQL_MAX_COLUMNS]; /* of columns with SQL_IS_EQUAL, _RANGE or _KEY */
        sqlite3_value
                *texts[SQL_MAX_COLUMNS]; /* of columns of texts with SQL_IS_EQUAL; NULL: any */
        sqlite3_value
                *arguments[SQL_MAX_COLUMNS]; /* of columns with SQL_IS_ARGUMENT; NULL: left out */
        uint64_t columns_used;               /* a bit each: values that will be asked for */
};

static inline bool sql_ask_uses(const struct sql_ask *a, int column) {
        return a->columns_used >> column & 1;
}

static inline bool sql_range_has(const struct sql_range *r, int64_t value) {
        return !r->is_set || (value >= r->low && value <= r->high);
}

/* Of things numbered from 0 to n, those in it: from *ret_first on, before *ret_end. */
static inline void sql_range_clip(const struct sql_range *r, size_t n, size_t *ret_first,
                                  size_t *ret_end) {
        *ret_first = r->is_set && r->low > 0 ? MIN((uint64_t)r->low, (uint64_t)n) : 0;
        *ret_end = n;
        if (r->is_set && r->high < (int64_t)n)
                *ret_end = r->high < 0 ? 0 : (size_t)r->high + 1;
        *ret_end = MAX(*ret_end, *ret_first);
}

struct sql_cursor {
        sqlite3_vtab_cursor base; /* first */
        const struct sql_table *table;
        struct sql_space *space;
        int64_t rowid;
        bool is_eof;
        /* table.c's alone: what was given, in the order of the columns, and what it adds to rowids */
        sqlite3_value *arguments[SQL_MAX_ARGUMENTS];
        uint64_t rowid_offset;
};

struct sql_table {
        const char *name, *help;
        const struct sql_column *columns;
        size_t n_columns;
        const char *
                view; /* a statement that it is, of other tables; then it has none of what follows */
        bool is_of_memory;   /* a recording of time alone has none of it, which is not nothing */
        size_t cursor_bytes; /* of a struct that begins with struct sql_cursor */
        /* rows in all, about, and how much a row costs to read that no condition spares (a row of the smallest tables: 1) */
        double (*n_rows)(struct sql_space *space);
        double row_cost;
        double (*n_read_at_once)(struct sql_space *space); /* rows, for the sake of one; NULL: 1 */
        /* To the first row of what is asked, from anywhere; called again for each round of a join. 0 or -errno. */
        int (*begin)(struct sql_cursor *c, const struct sql_ask *ask, struct err *reterr);
        int (*next)(struct sql_cursor *c, struct err *reterr);
        void (*column)(struct sql_cursor *c, sqlite3_context *to, int column);
        void (*end)(struct sql_cursor *c); /* frees what begin made; NULL: nothing */
};

/* The name of an argument, and twice that of its table. */
#define SQL_ARGUMENT_REFUSAL "%s is an argument of %s: give it once, as %s(…) or with ="

/* All of them, ended by NULL. */
extern const struct sql_table *const sql_all_tables[];

/* Makes the tables of a trace in the schema "main" or "other". */
int table_create_all(sqlite3 *db, struct sql_space *space, const char *schema, struct err *reterr);

/* A text of the trace or of the names, which outlives the statement; NULL is NULL. */
static inline void sql_result_name(sqlite3_context *to, const char *text) {
        if (text)
                sqlite3_result_text(to, text, -1, SQLITE_STATIC);
        else
                sqlite3_result_null(to);
}

/* Numbers beyond 2^63 − 1, which only damaged files have, are that. */
static inline void sql_result_count(sqlite3_context *to, uint64_t n) {
        sqlite3_result_int64(to, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}
