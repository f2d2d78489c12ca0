/* SPDX-License-Identifier: MIT */
/* Tables as SQLite's virtual tables. A plan is a text, made by best_index and read by filter: which column each value that SQLite hands over
 * belongs to, and which columns will be read. */
#include "sql/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "query/spent_time.h"

struct sql_vtab {
        sqlite3_vtab base; /* first */
        const struct sql_table *table;
        struct sql_space *space;
};

/* What a module is registered with: one for each table of each trace. */
struct registered {
        const struct sql_table *table;
        struct sql_space *space;
};

enum {
        COST_STARTING = 5, /* of each round of a join */
        RANGE_PART =
                4, /* of the rows that one end of a range leaves, where nothing better is known */
        USUAL_VALUES = 10,
        COSTLY_PART = 16, /* of the rows that are passed until the last release is found */
};

/* ---- making ------------------------------------------------------------------------------------ */

static void add_declaration(const struct sql_table *t, struct str *to) {
        str_add(to, "CREATE TABLE x(");
        for (size_t i = 0; i < t->n_columns; i++) {
                const struct sql_column *c = &t->columns[i];

                str_addf(to, "%s\"%s\" %s%s", i ? "," : "", c->name, c->type ? c->type : "INTEGER",
                         c->use & SQL_IS_ARGUMENT ? " HIDDEN" : "");
        }
        str_add(to, ")");
}

static int vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **ret, char **reterr) {
        const struct registered *one = aux;
        struct sql_vtab *v = sqlite3_malloc(sizeof(*v));
        struct str declaration = {0};
        int r;

        (void)argc, (void)argv, (void)reterr;
        if (!v)
                return SQLITE_NOMEM;
        *v = (struct sql_vtab){.table = one->table, .space = one->space};
        add_declaration(one->table, &declaration);
        r = sqlite3_declare_vtab(db, str_text(&declaration));
        str_done(&declaration);
        if (r != SQLITE_OK) {
                sqlite3_free(v);
                return r;
        }
        sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
        *ret = &v->base;
        return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *vtab) {
        sqlite3_free(vtab);
        return SQLITE_OK;
}

/* ---- planning ---------------------------------------------------------------------------------- */

static bool is_range_end(unsigned char op) {
        return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
               op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* IS differs where NULL is: a NULL to compare with leaves rows that are NULL. */
static bool is_equality(unsigned char op) {
        return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

static bool is_of_use(const struct sql_column *c, unsigned char op) {
        if (is_equality(op))
                return c->use & (SQL_IS_ARGUMENT | SQL_IS_EQUAL | SQL_IS_RANGE | SQL_IS_KEY);
        return is_range_end(op) && c->use & SQL_IS_RANGE;
}

static bool is_text(const struct sql_column *c) {
        return c->type && strcmp(c->type, "TEXT") == 0;
}

/* Texts that are equal in another way (NOCASE) are not for us. */
static bool compares_bytes(const struct sql_column *c, sqlite3_index_info *info, int i) {
        return !is_text(c) || sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* The part of the rows that a condition leaves. */
static double part_left(const struct sql_vtab *v, const struct sql_column *c, unsigned char op,
                        double n_rows) {
        double n_values = USUAL_VALUES;

        if (!is_equality(op))
                return 1.0 / RANGE_PART;
        if (c->use & SQL_IS_KEY)
                return 1 / fmax(n_rows, 1);
        if (c->n_values)
                n_values = c->n_values(v->space);
        else if (c->use & SQL_IS_RANGE)
                n_values = sqrt(fmax(n_rows, 1));
        return 1 / fmax(n_values, 1);
}

/* What constants leave of a column whose values are spread in a known way. */
struct stretch {
        double low, high;
        bool is_set;
};

/* False: the other side of the condition is not known yet, or no number. */
static bool stretch_narrow(struct stretch *to, const struct sql_vtab *v, const struct sql_column *c,
                           sqlite3_index_info *info, int i) {
        sqlite3_value *value = NULL;
        double below;

        if (!c->part_below || is_equality(info->aConstraint[i].op))
                return false;
#if SQLITE_VERSION_NUMBER >= 3038000
        if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
                return false;
#endif
        if (!value || sqlite3_value_type(value) != SQLITE_INTEGER)
                return false;
        if (!to->is_set)
                *to = (struct stretch){0, 1, true};
        below = fmin(fmax(c->part_below(v->space, sqlite3_value_int64(value)), 0), 1);
        if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_GT ||
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_GE)
                to->low = fmax(to->low, below);
        else
                to->high = fmin(to->high, below);
        return true;
}

/* Rows that are read: whole slices, and where releases are looked for also what follows. */
static double rows_read(const struct sql_vtab *v, const sqlite3_index_info *info, double n_rows,
                        double n_read) {
        if (v->table->n_read_at_once)
                n_read = fmax(n_read, fmin(v->table->n_read_at_once(v->space), n_rows));
        for (size_t i = 0; i < v->table->n_columns && i < 63; i++)
                if (v->table->columns[i].use & SQL_IS_COSTLY && info->colUsed >> i & 1)
                        return 2 * n_read + n_rows / COSTLY_PART;
        return n_read;
}

/* An argument whose value depends on a table that has not been read is no argument: another order must do. */
static bool lacks_argument(const struct sql_vtab *v, const sqlite3_index_info *info) {
        for (int i = 0; i < info->nConstraint; i++) {
                int column = info->aConstraint[i].iColumn;

                if (column >= 0 && v->table->columns[column].use & SQL_IS_ARGUMENT &&
                    is_equality(info->aConstraint[i].op) && !info->aConstraint[i].usable)
                        return true;
        }
        return false;
}

/* ---- texts in the place of numbers ------------------------------------------------------------- */

static bool is_number(const struct sql_column *c) {
        return !c->type && !(c->use & SQL_IS_ARGUMENT);
}

static bool is_time(const struct sql_column *c) {
        size_t n = strlen(c->name);

        return n > 3 && strcmp(c->name + n - 3, "_ns") == 0;
}

static bool is_comparison(unsigned char op) {
        return is_equality(op) || op == SQLITE_INDEX_CONSTRAINT_NE ||
               op == SQLITE_INDEX_CONSTRAINT_ISNOT || is_range_end(op);
}

/* SQLite reads a number that is written as a text. The value itself is not to change: others may look at it, too. */
static bool is_text_of_number(sqlite3_value *value) {
        sqlite3_value *copy = sqlite3_value_dup(value);
        int type = copy ? sqlite3_value_numeric_type(copy) : SQLITE_INTEGER;

        sqlite3_value_free(copy);
        return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* For SQLite every text is above every number: '1s' as a bound would leave all rows, or none. NULL: it can be compared; else why not. */
static char *text_refusal(const struct sql_vtab *v, const struct sql_column *c,
                          sqlite3_value *value) {
        const char *text, *at = v->space->schema[0] == 'o' ? "other_at" : "at";
        uint64_t n;

        if (sqlite3_value_type(value) != SQLITE_TEXT || is_text_of_number(value))
                return NULL;
        text = (const char *)sqlite3_value_text(value);
        if (!text)
                return NULL;
        if (is_time(c))
                return text[0] == '@' || unit_parse_duration(text, &n, NULL) >= 0
                               ? sqlite3_mprintf("%s is a number: write %s(%.80Q)", c->name, at,
                                                 text)
                               : sqlite3_mprintf("%s is a number, and %.80Q is none: write "
                                                 "nanoseconds, %s('5s') or %s('@NAME')",
                                                 c->name, text, at, at);
        if (strstr(c->name, "bytes") && unit_parse_bytes(text, &n, NULL) >= 0)
                return sqlite3_mprintf("%s is a number: write %llu instead of %.80Q", c->name,
                                       (unsigned long long)n, text);
        return sqlite3_mprintf("%s is a number, and %.80Q is none", c->name, text);
}

/* What is known while SQLite plans, also of columns whose conditions are left to SQLite. */
static char *plan_refusal(const struct sql_vtab *v, sqlite3_index_info *info, int i) {
#if SQLITE_VERSION_NUMBER >= 3038000
        const struct sqlite3_index_constraint *x = &info->aConstraint[i];
        sqlite3_value *value = NULL;

        if (x->iColumn >= 0 && (size_t)x->iColumn < v->table->n_columns && is_comparison(x->op) &&
            is_number(&v->table->columns[x->iColumn]) &&
            sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value)
                return text_refusal(v, &v->table->columns[x->iColumn], value);
#else
        (void)v, (void)info, (void)i;
#endif
        return NULL;
}

static bool is_given(const sqlite3_index_info *info, int n, int column) {
        for (int i = 0; i < n; i++)
                if (info->aConstraint[i].iColumn == column && is_equality(info->aConstraint[i].op))
                        return true;
        return false;
}

/* An argument is no column of values: a range of it would leave no row, and of two only one would count. */
static char *argument_refusal(const struct sql_vtab *v, const sqlite3_index_info *info, int i) {
        const struct sqlite3_index_constraint *x = &info->aConstraint[i];
        const struct sql_column *c;
        bool is_told;

        if (x->iColumn < 0 || (size_t)x->iColumn >= v->table->n_columns)
                return NULL;
        c = &v->table->columns[x->iColumn];
        is_told = c->use & SQL_IS_TOLD && is_given(info, info->nConstraint, x->iColumn);
        if (!(c->use & SQL_IS_ARGUMENT) || is_told)
                return NULL;
        if (is_equality(x->op)
                    ? !is_given(info, i, x->iColumn)
                    : !is_comparison(x->op) && x->op != SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
                return NULL;
        return sqlite3_mprintf(SQL_ARGUMENT_REFUSAL, c->name, v->table->name, v->table->name);
}

/* What is left of an argument without an equality that SQLite hands over (in OR, NOT, an expression) is compared with nothing. NULL: none. */
static const struct sql_column *argument_without_value(const struct sql_vtab *v,
                                                       const sqlite3_index_info *info) {
        for (size_t i = 0; i < v->table->n_columns; i++) {
                const struct sql_column *c = &v->table->columns[i];

                if (c->use & SQL_IS_ARGUMENT && !(c->use & SQL_IS_TOLD) && info->colUsed >> i & 1 &&
                    !is_given(info, info->nConstraint, (int)i))
                        return c;
        }
        return NULL;
}

static int vtab_refuse(sqlite3_vtab *vtab, char *why) {
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = why;
        return SQLITE_ERROR;
}

/* ---- the plan ---------------------------------------------------------------------------------- */

static int vtab_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
        const struct sql_vtab *v = (const struct sql_vtab *)vtab;
        const struct sql_column *without = argument_without_value(v, info);
        double n_rows = v->table->n_rows ? fmax(v->table->n_rows(v->space), 1) : 100;
        double n_read = n_rows, n_left = n_rows;
        struct stretch stretch = {0};
        struct str plan = {0};
        int n_taken = 0;

        if (sql_must_stop(v->space->sql)) /* nobody else looks while SQLite plans */
                return SQLITE_INTERRUPT;
        for (int i = 0; i < info->nConstraint; i++) {
                char *why = plan_refusal(v, info, i);

                if (!why)
                        why = argument_refusal(v, info, i);
                if (why)
                        return vtab_refuse(vtab, why);
        }
        if (lacks_argument(v, info))
                return SQLITE_CONSTRAINT;
        if (without) { /* of a part of an OR: then SQLite plans without parts */
                sql_note_argument(v->space->sql, without->name, v->table->name);
                return SQLITE_CONSTRAINT;
        }
        str_addf(&plan, "%llx", (unsigned long long)info->colUsed);
        for (int i = 0; i < info->nConstraint; i++) {
                const struct sqlite3_index_constraint *x = &info->aConstraint[i];
                const struct sql_column *c;
                double part;

                if (!x->usable || x->iColumn < 0 || (size_t)x->iColumn >= v->table->n_columns)
                        continue;
                c = &v->table->columns[x->iColumn];
                if (!is_of_use(c, x->op) || !compares_bytes(c, info, i))
                        continue;
                if (c->use & SQL_IS_ARGUMENT && is_given(info, i, x->iColumn))
                        continue; /* SQLite compares it with what is told */
                info->aConstraintUsage[i].argvIndex = ++n_taken;
                str_addf(&plan, " %d %d", x->iColumn, x->op);
                if (c->use & SQL_IS_ARGUMENT) {
                        info->aConstraintUsage[i].omit = 1;
                        continue;
                }
                if (stretch_narrow(&stretch, v, c, info, i))
                        continue;
                part = part_left(v, c, x->op, n_rows);
                n_left *= part;
                if (c->use & SQL_IS_SOUGHT)
                        n_read *= part;
                if (c->use & SQL_IS_KEY && x->op == SQLITE_INDEX_CONSTRAINT_EQ)
                        info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
        }
        if (stretch.is_set) {
                n_left *= fmax(stretch.high - stretch.low, 0);
                n_read *= fmax(stretch.high - stretch.low, 0);
        }
        n_read = rows_read(v, info, n_rows, n_read);
        info->idxStr = sqlite3_mprintf("%s", str_text(&plan));
        info->needToFreeIdxStr = 1;
        str_done(&plan);
        if (!info->idxStr)
                return SQLITE_NOMEM;
        info->estimatedRows = (sqlite3_int64)fmax(n_left, 1);
        info->estimatedCost = COST_STARTING + n_read * v->table->row_cost + fmax(n_left, 1);
        return SQLITE_OK;
}

static const char *sign_of(long op) {
        switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ: return "=";
        case SQLITE_INDEX_CONSTRAINT_IS: return "IS";
        case SQLITE_INDEX_CONSTRAINT_GT: return ">";
        case SQLITE_INDEX_CONSTRAINT_GE: return ">=";
        case SQLITE_INDEX_CONSTRAINT_LT: return "<";
        case SQLITE_INDEX_CONSTRAINT_LE: return "<=";
        default: return "~";
        }
}

void sql_add_conditions(const struct sql_table_info *t, const char *plan, struct str *to) {
        char *at;
        size_t n = 0;

        strtoull(plan, &at, 16);
        for (;;) {
                char *end;
                long column = strtol(at, &end, 10), op;

                if (end == at || column < 0 || (size_t)column >= t->n_columns)
                        break;
                op = strtol(end, &at, 10);
                str_addf(to, "%s%s %s …", n++ ? ", " : " where ", t->columns[column].name,
                         sign_of(op));
        }
}

/* ---- asking ------------------------------------------------------------------------------------ */

static void range_narrow(struct sql_range *r, int64_t low, int64_t high) {
        if (!r->is_set)
                *r = (struct sql_range){low, high, true};
        r->low = MAX(r->low, low);
        r->high = MIN(r->high, high);
}

/* Numbers and NULL: of texts and others SQLite knows better how they compare, and no row is left out for them. */
static void range_take(struct sql_range *r, int op, sqlite3_value *value) {
        int type = sqlite3_value_type(value);
        int64_t floor_of, ceil_of;

        if (type == SQLITE_INTEGER) {
                floor_of = ceil_of = sqlite3_value_int64(value);
        } else if (type == SQLITE_FLOAT) {
                double x = sqlite3_value_double(value);

                if (isnan(x) || fabs(x) >= 0x1p62)
                        return;
                floor_of = (int64_t)floor(x);
                ceil_of = (int64_t)ceil(x);
        } else if (type == SQLITE_NULL && op != SQLITE_INDEX_CONSTRAINT_IS) {
                range_narrow(r, 1, 0); /* what is compared with NULL is not true of any row */
                return;
        } else {
                return;
        }
        switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
        case SQLITE_INDEX_CONSTRAINT_IS: range_narrow(r, ceil_of, floor_of); break;
        case SQLITE_INDEX_CONSTRAINT_GT:
                if (floor_of < INT64_MAX)
                        range_narrow(r, floor_of + 1, INT64_MAX);
                break;
        case SQLITE_INDEX_CONSTRAINT_GE: range_narrow(r, ceil_of, INT64_MAX); break;
        case SQLITE_INDEX_CONSTRAINT_LT:
                if (ceil_of > INT64_MIN)
                        range_narrow(r, INT64_MIN, ceil_of - 1);
                break;
        case SQLITE_INDEX_CONSTRAINT_LE: range_narrow(r, INT64_MIN, floor_of); break;
        default: break;
        }
}

/* NULL, or why the conditions make no sense. */
static char *ask_read(struct sql_ask *ask, const struct sql_vtab *v, const char *plan, int argc,
                      sqlite3_value **argv) {
        const struct sql_table *t = v->table;
        char *end, *why;

        memset(ask, 0, sizeof(*ask));
        ask->columns_used = strtoull(plan, &end, 16);
        for (int i = 0; i < argc; i++) {
                int column = (int)strtol(end, &end, 10);
                int op = (int)strtol(end, &end, 10);

                why = is_number(&t->columns[column]) ? text_refusal(v, &t->columns[column], argv[i])
                                                     : NULL;
                if (why)
                        return why;
                if (t->columns[column].use & SQL_IS_ARGUMENT)
                        ask->arguments[column] = argv[i];
                else if (is_text(&t->columns[column]))
                        ask->texts[column] =
                                sqlite3_value_type(argv[i]) == SQLITE_TEXT ? argv[i] : NULL;
                else
                        range_take(&ask->ranges[column], op, argv[i]);
        }
        return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static int vtab_fail(sqlite3_vtab *vtab, int r, const struct err *err) {
        if (r == -ECANCELED || r == -ETIME)
                return SQLITE_INTERRUPT;
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("%s", err->text);
        return SQLITE_ERROR;
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret) {
        const struct sql_vtab *v = (const struct sql_vtab *)vtab;
        size_t n_bytes = MAX(v->table->cursor_bytes, sizeof(struct sql_cursor));
        struct sql_cursor *c = sqlite3_malloc64(n_bytes);

        if (!c)
                return SQLITE_NOMEM;
        memset(c, 0, n_bytes);
        c->table = v->table;
        c->space = v->space;
        *ret = &c->base;
        return SQLITE_OK;
}

/* Its place among the arguments of its table. */
static size_t argument_idx(const struct sql_table *t, int column) {
        size_t n = 0;

        for (int i = 0; i < column; i++)
                n += !!(t->columns[i].use & SQL_IS_ARGUMENT);
        return n;
}

static void forget_arguments(struct sql_cursor *c) {
        for (size_t i = 0; i < SQL_MAX_ARGUMENTS; i++) {
                sqlite3_value_free(c->arguments[i]);
                c->arguments[i] = NULL;
        }
        c->rowid_offset = 0;
}

/* Rows of other arguments are other rows, also where SQLite joins the parts of an OR and drops a row whose rowid it has seen: their rowids
 * begin elsewhere, far apart, and keep their order. */
static uint64_t offset_of(size_t idx, sqlite3_value *value) {
        int type = sqlite3_value_type(value);
        bool is_whole = type == SQLITE_INTEGER ||
                        (type == SQLITE_FLOAT &&
                         sqlite3_value_double(value) == (double)sqlite3_value_int64(value));
        uint64_t hash = 0x9e3779b97f4a7c15u * (idx + 1);
        const uint8_t *bytes = is_whole ? NULL : sqlite3_value_blob(value);

        for (int i = 0; bytes && i < sqlite3_value_bytes(value); i++)
                hash = (hash ^ bytes[i]) * 0x100000001b3u;
        if (is_whole)
                hash ^= (uint64_t)sqlite3_value_int64(value);
        hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
        hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
        return hash ^ hash >> 31;
}

/* What else is said of an argument is compared with it as it was given, a number as a number. */
static int keep_arguments(struct sql_cursor *c, const struct sql_ask *ask) {
        forget_arguments(c);
        for (size_t i = 0; i < c->table->n_columns; i++) {
                size_t idx = argument_idx(c->table, (int)i);

                if (!ask->arguments[i])
                        continue;
                c->arguments[idx] = sqlite3_value_dup(ask->arguments[i]);
                if (!c->arguments[idx])
                        return SQLITE_NOMEM;
                c->rowid_offset += offset_of(idx, ask->arguments[i]);
                if (!is_text(&c->table->columns[i]))
                        sqlite3_value_numeric_type(c->arguments[idx]);
        }
        c->rowid_offset &= INT64_MAX / 2;
        return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base) {
        struct sql_cursor *c = (struct sql_cursor *)base;

        if (c->table->end)
                c->table->end(c);
        forget_arguments(c);
        sqlite3_free(c);
        return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int idx, const char *plan, int argc,
                         sqlite3_value **argv) {
        struct sql_cursor *c = (struct sql_cursor *)base;
        struct err err = {0};
        struct sql_ask ask;
        char *why;
        int r;

        (void)idx;
        if (c->table->end)
                c->table->end(c);
        why = ask_read(&ask, (const struct sql_vtab *)base->pVtab, plan, argc, argv);
        if (why)
                return vtab_refuse(base->pVtab, why);
        if (keep_arguments(c, &ask) != SQLITE_OK)
                return SQLITE_NOMEM;
        c->is_eof = false;
        c->rowid = 0;
        if (c->table->is_of_memory && query_is_of_time(c->space->trace.q))
                r = err_set(
                        &err, -ENODATA,
                        "%s has samples of time and no allocations: record with 'silt run --cpu'",
                        c->space->trace.path);
        else
                r = c->table->begin(c, &ask, &err);
        return r < 0 ? vtab_fail(base->pVtab, r, &err) : SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
        struct sql_cursor *c = (struct sql_cursor *)base;
        struct err err;
        int r;

        err.code = 0;
        c->space->n_rows_read++;
        r = c->table->next(c, &err);
        return r < 0 ? vtab_fail(base->pVtab, r, &err) : SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
        return ((const struct sql_cursor *)base)->is_eof;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column) {
        struct sql_cursor *c = (struct sql_cursor *)base;

        unsigned use = c->table->columns[column].use;

        if (!(use & SQL_IS_ARGUMENT) || use & SQL_IS_TOLD)
                c->table->column(c, to, column);
        else if (c->arguments[argument_idx(c->table, column)])
                sqlite3_result_value(to, c->arguments[argument_idx(c->table, column)]);
        return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret) {
        const struct sql_cursor *c = (const struct sql_cursor *)base;
        uint64_t rowid = (uint64_t)c->rowid + c->rowid_offset;

        *ret = (sqlite3_int64)rowid;
        return SQLITE_OK;
}

static const sqlite3_module module = {
        .iVersion = 0,
        .xCreate = vtab_connect,
        .xConnect = vtab_connect,
        .xBestIndex = vtab_best_index,
        .xDisconnect = vtab_disconnect,
        .xDestroy = vtab_disconnect,
        .xOpen = cursor_open,
        .xClose = cursor_close,
        .xFilter = cursor_filter,
        .xNext = cursor_next,
        .xEof = cursor_eof,
        .xColumn = cursor_column,
        .xRowid = cursor_rowid,
};

static int view_create(sqlite3 *db, const char *schema, const struct sql_table *t) {
        struct str sql = {0};
        int r;

        str_addf(&sql, "CREATE VIEW \"%s\".\"%s\" AS %s", schema, t->name, t->view);
        r = sqlite3_exec(db, str_text(&sql), NULL, NULL, NULL);
        str_done(&sql);
        return r;
}

static int table_create(sqlite3 *db, struct sql_space *space, const char *schema,
                        const struct sql_table *t) {
        struct registered *one = malloc(sizeof(*one));
        char name[64];
        struct str sql = {0};
        int r;

        if (!one)
                abort();
        *one = (struct registered){t, space};
        snprintf(name, sizeof(name), "silt_%s_%s", schema, t->name);
        r = sqlite3_create_module_v2(db, name, &module, one, free);
        str_addf(&sql, "CREATE VIRTUAL TABLE \"%s\".\"%s\" USING \"%s\"", schema, t->name, name);
        if (r == SQLITE_OK)
                r = sqlite3_exec(db, str_text(&sql), NULL, NULL, NULL);
        str_done(&sql);
        return r;
}

int table_create_all(sqlite3 *db, struct sql_space *space, const char *schema, struct err *reterr) {
        for (size_t i = 0; sql_all_tables[i]; i++) {
                const struct sql_table *t = sql_all_tables[i];

                if ((t->view ? view_create(db, schema, t) : table_create(db, space, schema, t)) !=
                    SQLITE_OK)
                        return err_set(reterr, -EINVAL, "cannot make the table %s: %s", t->name,
                                       sqlite3_errmsg(db));
        }
        return 0;
}
