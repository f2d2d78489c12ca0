/* SPDX-License-Identifier: MIT */
/* What a statement of SQL says of the trace: silt.rows/1. And what it may ask for: silt.sql-schema/1. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answers.h"
#include "base/units.h"
#include "sql/recipe.h"
#include "sql/sql.h"
#include "sql/sql_advice.h"

/* Numbers that name something: a page leads to it by another word. */
enum naming { NAMES_NOTHING, NAMES_THREAD, NAMES_PROCESS };

struct result {
        struct question *k;
        struct sql *sql;
        struct sql_rows *rows;
        const struct recipe *recipe; /* NULL: a statement of whoever asks */
        struct recipe_value values[ASKED_MAX_PARAMETERS];
        struct str says; /* of a recipe */
        size_t n_columns;
        enum naming *naming;                /* of each column */
        unsigned char *threads, *processes; /* 1: a row names it */
};

/* ---- refusing ---------------------------------------------------------------------------------- */

/* As a page says it, with numbers that servers tell from their own failures. */
static int refuse(const struct result *x, int r, struct err *reterr) {
        int stopped = asker_go_on(x->k->asker);
        struct unit_text t;

        if (stopped < 0)
                return err_set(reterr, stopped, "the statement was stopped");
        switch (r) {
        case -ENOMEM:
                r = err_set(
                        reterr, -E2BIG,
                        "the statement needs more than %s of memory, or others do at this moment: "
                        "add conditions, or use 'silt sql --max-memory'",
                        unit_bytes(&t, SQL_MAX_MEMORY_BYTES));
                break;
        case -ECANCELED:
        case -ETIME: return r;
        case -E2BIG: break;
        case -EPERM: r = -EACCES; break;
        default: r = -EINVAL; break;
        }
        if (reterr)
                reterr->code = r;
        return err_about(reterr, "sql", r);
}

/* ---- before the first row ---------------------------------------------------------------------- */

static int prepare(struct result *x, struct err *reterr) {
        const char *rest = NULL;
        struct sql_rows *second = NULL;
        struct err why = {0};
        const char *statement = x->recipe ? x->recipe->statement : x->k->asked->sql;
        int r = sql_prepare(x->sql, statement, &x->rows, &rest, &why);

        if (r < 0) {
                r = refuse(x, r, &why);
                sql_advise(x->sql, statement, false, &why);
                if (reterr)
                        *reterr = why;
                return r;
        }
        if (!x->rows)
                r = err_set(reterr, -EINVAL, "there is no statement: write a SELECT");
        else if (sql_prepare(x->sql, rest, &second, NULL, NULL) < 0 || second)
                r = err_set(reterr, -EINVAL,
                            "one statement at a time: leave out what is behind the first ';'");
        sql_rows_free(second);
        return r < 0 ? err_about(reterr, "sql", r) : 0;
}

static const char *value_of(const struct asked *a, const char *name) {
        for (size_t i = a->parameters.n; i-- > 0;)
                if (strcmp(a->parameters.items[i].name, name) == 0)
                        return a->parameters.items[i].value;
        return NULL;
}

/* What nobody gave a value would be NULL, and the answer to another question. One that is given and empty is NULL. */
static int bind(struct result *x, struct err *reterr) {
        const struct asked *a = x->k->asked;
        const char *name;
        int r = 0;

        if (x->recipe) {
                r = recipe_bind(x->recipe, x->rows, x->values, a->parameters.n, reterr);
                if (r < 0)
                        return err_about(reterr, "recipe", -EINVAL);
                r = recipe_check_needs(x->recipe, x->sql, x->values, a->parameters.n, reterr);
                return r < 0 ? refuse(x, r, reterr) : 0;
        }
        for (size_t i = 0; r >= 0 && (name = sql_parameter(x->rows, i)); i++) {
                const char *value = value_of(a, name);

                if (!name[0] || (name[0] >= '0' && name[0] <= '9'))
                        r = err_set(reterr, -EINVAL,
                                    "a parameter has no name: write :NAME instead of '?'");
                else if (!value)
                        r = err_set(reterr, -EINVAL,
                                    "the parameter :%.64s has no value: add p-%.64s", name, name);
                else if (value[0])
                        r = sql_bind(x->rows, name, value, reterr);
        }
        for (size_t i = 0; r >= 0 && i < a->parameters.n; i++) {
                size_t at = 0;

                while ((name = sql_parameter(x->rows, at)) &&
                       strcmp(name, a->parameters.items[i].name) != 0)
                        at++;
                if (!name)
                        r = err_set(reterr, -EINVAL, "the statement has no parameter :%.64s",
                                    a->parameters.items[i].name);
        }
        return r < 0 ? err_about(reterr, "sql", -EINVAL) : 0;
}

/* ---- columns ----------------------------------------------------------------------------------- */

static enum naming naming_of(const char *table, const char *column) {
        if (strcmp(column, "thread") == 0 || strcmp(column, "freed_by") == 0 ||
            (strcmp(table, "threads") == 0 && strcmp(column, "id") == 0))
                return NAMES_THREAD;
        if (strcmp(column, "process") == 0 ||
            (strcmp(table, "processes") == 0 && strcmp(column, "id") == 0))
                return NAMES_PROCESS;
        return NAMES_NOTHING;
}

/* "trace" is null where a value was made of others, and may be of both. */
static void put_columns(struct result *x) {
        bool has_other = asker_options(x->k->asker)->old_path;
        struct json *j = &x->k->j;

        json_key(j, "columns");
        json_array(j);
        for (size_t i = 0; i < x->n_columns; i++) {
                const char *name = sql_column_name(x->rows, i);
                struct sql_origin o;
                bool is_known = sql_column_origin(x->rows, i, &o);

                if (is_known && !o.is_other)
                        x->naming[i] = naming_of(o.table, o.column);
                else if (!is_known && !has_other)
                        x->naming[i] = naming_of("", name);
                json_object(j);
                json_put_string(j, "name", name);
                if (is_known) {
                        json_put_string(j, "trace", o.is_other ? "other" : "main");
                        json_put_string(j, "table", o.table);
                        json_put_string(j, "column", o.column);
                } else {
                        json_key(j, "trace");
                        if (has_other)
                                json_null(j);
                        else
                                json_string(j, "main");
                        answer_put_null(j, "table");
                        answer_put_null(j, "column");
                }
                json_end(j);
        }
        json_end(j);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* A text ends at its first NUL for whoever prints it: what follows is not to be lost without a word. */
static void put_text(struct json *j, const struct sql_value *v) {
        struct str whole = {0};

        if (!memchr(v->text, '\0', v->n_bytes)) {
                json_string(j, v->text);
                return;
        }
        for (size_t i = 0; i < v->n_bytes; i++)
                str_addn(&whole, v->text[i] ? &v->text[i] : "\xef\xbf\xbd", v->text[i] ? 1 : 3);
        json_string(j, str_text(&whole));
        str_done(&whole);
}

static void put_blob(struct json *j, const struct sql_value *v) {
        struct str hex = {0};

        str_add(&hex, "x'");
        for (size_t i = 0; i < v->n_bytes; i++)
                str_addf(&hex, "%02x", (unsigned char)v->text[i]);
        str_add(&hex, "'");
        json_string(j, str_text(&hex));
        str_done(&hex);
}

/* Browsers have 53 bits of a number: what would be rounded is a text. */
static void put_integer(struct json *j, int64_t n) {
        char text[32];

        if (n >= -(1LL << 53) && n <= 1LL << 53) {
                json_int(j, n);
                return;
        }
        snprintf(text, sizeof(text), "%lld", (long long)n);
        json_string(j, text);
}

static void put_value(struct result *x, size_t column) {
        struct sql_value v = sql_value(x->rows, column);
        struct json *j = &x->k->j;

        switch (v.kind) {
        case SQL_NULL: json_null(j); break;
        case SQL_INTEGER:
                put_integer(j, v.integer);
                if (x->naming[column] == NAMES_THREAD && v.integer >= 0 &&
                    (uint64_t)v.integer < x->k->v->n_threads)
                        x->threads[v.integer] = 1;
                if (x->naming[column] == NAMES_PROCESS && v.integer >= 0 &&
                    (uint64_t)v.integer < x->k->v->n_processes)
                        x->processes[v.integer] = 1;
                break;
        case SQL_REAL:
                if (isinf(v.real))
                        json_string(j, v.real < 0 ? "-Inf" : "Inf");
                else
                        json_real(j, v.real);
                break;
        case SQL_TEXT: put_text(j, &v); break;
        case SQL_BLOB: put_blob(j, &v); break;
        }
}

/* What is wrong with a sentence is for whoever wrote the recipe, and keeps nobody from its answer. */
static void say(struct result *x, bool has_row) {
        if (x->recipe && recipe_says(x->recipe, x->rows, has_row, x->values,
                                     x->k->asked->parameters.n, &x->says, NULL) < 0)
                str_clear(&x->says);
}

static int put_rows(struct result *x, struct err *reterr) {
        struct json *j = &x->k->j;
        uint32_t n = 0;
        int r = 0;

        json_key(j, "rows");
        json_array(j);
        while (!ferror(x->k->out) && (r = sql_next(x->rows, reterr)) > 0) {
                if (n == 0)
                        say(x, true);
                if (n++ == x->k->asked->n_rows)
                        break;
                json_array(j);
                for (size_t i = 0; i < x->n_columns; i++)
                        put_value(x, i);
                json_end(j);
        }
        json_end(j);
        if (r < 0)
                return refuse(x, r, reterr);
        if (n == 0)
                say(x, false);
        answer_put_bool(j, "has_more", r > 0);
        return 0;
}

/* ---- behind the last row ----------------------------------------------------------------------- */

static void put_named(struct result *x) {
        const struct trace_view *v = x->k->v;
        struct json *j = &x->k->j;
        struct str word = {0};

        json_key(j, "threads");
        json_array(j);
        for (size_t i = 0; i < v->n_threads; i++) {
                if (!x->threads[i])
                        continue;
                json_object(j);
                json_put_uint(j, "id", i);
                json_put_uint(j, "tid", v->threads[i].start.tid);
                json_put_string(j, "name", v->threads[i].name);
                json_end(j);
        }
        json_end(j);
        json_key(j, "processes");
        json_array(j);
        for (uint32_t i = 0; i < v->n_processes; i++) {
                if (!x->processes[i])
                        continue;
                str_clear(&word);
                query_add_process_word(x->k->q, i, &word);
                json_object(j);
                json_put_uint(j, "id", i);
                json_put_string(j, "word", str_text(&word));
                json_put_string(j, "name", query_process_name(x->k->q, i));
                json_end(j);
        }
        json_end(j);
        str_done(&word);
}

static void *room_for(size_t n, size_t n_bytes) {
        void *room = calloc(n + 1, n_bytes);

        if (!room)
                abort();
        return room;
}

static int put_result(struct result *x, struct err *reterr) {
        struct json *j = &x->k->j;
        int r;

        x->n_columns = sql_n_columns(x->rows);
        x->naming = room_for(x->n_columns, sizeof(*x->naming));
        x->threads = room_for(x->k->v->n_threads, 1);
        x->processes = room_for(x->k->v->n_processes, 1);
        json_object(j);
        json_put_string(j, "schema", "silt.rows/1");
        put_columns(x);
        r = put_rows(x, reterr);
        if (r >= 0) {
                put_named(x);
                json_put_text(j, "says", str_text(&x->says));
                json_put_text(j, "doubts", sql_doubts(x->sql));
                json_end(j);
        }
        free(x->naming);
        free(x->threads);
        free(x->processes);
        return r;
}

static int find_recipe(struct result *x, const struct recipes *of, struct err *reterr) {
        const struct asked *a = x->k->asked;
        const struct recipe *one = recipes_find(of, a->recipe);
        int r = 0;

        if (!one)
                r = err_set(reterr, -ENOENT, "no recipe has the name '%.64s'", a->recipe);
        else if (one->trouble)
                r = err_set(reterr, -EINVAL, "the recipe %s cannot be used: %s", one->name,
                            one->trouble);
        if (r < 0)
                return err_about(reterr, "recipe", r);
        for (size_t i = 0; i < a->parameters.n; i++) {
                const char *name = a->parameters.items[i].name;

                if (!recipe_parameter(one, name, strlen(name)))
                        return err_about(reterr, "recipe",
                                         err_set(reterr, -EINVAL,
                                                 "the recipe %s has no parameter :%.64s", one->name,
                                                 name));
                x->values[i] = (struct recipe_value){name, a->parameters.items[i].value};
        }
        x->recipe = one;
        return 0;
}

static int load_recipes(const struct question *k, struct recipes **ret, struct err *reterr) {
        return recipes_load(asker_options(k->asker)->rules.with_config, NULL, ret, reterr);
}

int answer_sql(struct question *k, struct err *reterr) {
        _cleanup_(recipes_freep) struct recipes *recipes = NULL;
        _cleanup_(sql_freep) struct sql *s = NULL;
        struct result x = {.k = k};
        int r = asker_go_on(k->asker); /* a short statement never asks */

        if (r < 0)
                return err_set(reterr, r, "the statement was stopped");
        r = asker_sql(k->asker, k->resolved.scope.process, &s, reterr);
        x.sql = s;
        if (r >= 0 && k->asked->recipe) {
                r = load_recipes(k, &recipes, reterr);
                if (r >= 0)
                        r = find_recipe(&x, recipes, reterr);
        }
        if (r >= 0)
                r = prepare(&x, reterr);
        if (r >= 0)
                r = bind(&x, reterr);
        if (r >= 0)
                r = put_result(&x, reterr);
        sql_rows_free(x.rows);
        str_done(&x.says);
        return r;
}

/* ---- what there is ----------------------------------------------------------------------------- */

static void put_tables(struct json *j, const struct sql *s) {
        size_t n;
        const struct sql_table_info *tables = sql_tables(s, &n);

        json_key(j, "tables");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                json_object(j);
                json_put_string(j, "name", tables[i].name);
                json_put_string(j, "help", tables[i].help);
                json_key(j, "columns");
                json_array(j);
                for (size_t c = 0; c < tables[i].n_columns; c++) {
                        json_object(j);
                        json_put_string(j, "name", tables[i].columns[c].name);
                        json_put_string(j, "help", tables[i].columns[c].help);
                        answer_put_bool(j, "is_argument", tables[i].columns[c].is_argument);
                        json_end(j);
                }
                json_end(j);
                json_end(j);
        }
        json_end(j);
}

static void put_functions(struct json *j) {
        size_t n;
        const struct sql_function_info *functions = sql_functions(&n);

        json_key(j, "functions");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                json_object(j);
                json_put_string(j, "name", functions[i].name);
                json_put_string(j, "usage", functions[i].usage);
                json_put_string(j, "help", functions[i].help);
                json_end(j);
        }
        json_end(j);
}

static void put_recipe(struct json *j, const struct recipe *one) {
        json_object(j);
        json_put_string(j, "name", one->name);
        json_put_string(j, "help", one->help ? one->help : "");
        json_put_text(j, "trouble", one->trouble);
        json_put_string(j, "statement", one->statement ? one->statement : "");
        json_key(j, "parameters");
        json_array(j);
        for (size_t i = 0; i < one->n_parameters; i++) {
                json_object(j);
                json_put_string(j, "name", one->parameters[i].name);
                json_put_string(j, "without", one->parameters[i].without);
                json_put_string(j, "help", one->parameters[i].help);
                answer_put_bool(j, "is_size", one->parameters[i].is_size);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}

int answer_sql_schema(struct question *k, struct err *reterr) {
        _cleanup_(recipes_freep) struct recipes *recipes = NULL;
        _cleanup_(sql_freep) struct sql *s = NULL;
        int r = asker_go_on(k->asker);

        if (r < 0)
                return err_set(reterr, r, "the question was stopped");
        r = asker_sql(k->asker, k->resolved.scope.process, &s, reterr);
        if (r >= 0)
                r = load_recipes(k, &recipes, reterr);
        if (r < 0)
                return r;
        json_object(&k->j);
        json_put_string(&k->j, "schema", "silt.sql-schema/1");
        answer_put_bool(&k->j, "has_other", asker_options(k->asker)->old_path != NULL);
        put_tables(&k->j, s);
        put_functions(&k->j);
        json_key(&k->j, "recipes");
        json_array(&k->j);
        for (size_t i = 0; i < recipes_n(recipes); i++)
                put_recipe(&k->j, recipes_at(recipes, i));
        json_end(&k->j);
        json_end(&k->j);
        return 0;
}
