/* SPDX-License-Identifier: MIT */
#include "sql/sql_advice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/near.h"

const char *const sql_keywords[] = {
        "SELECT",  "FROM",   "WHERE",     "GROUP",  "ORDER",     "BY",     "LIMIT",   "HAVING",
        "JOIN",    "LEFT",   "ON",        "USING",  "AS",        "AND",    "OR",      "NOT",
        "IN",      "IS",     "NULL",      "LIKE",   "GLOB",      "REGEXP", "BETWEEN", "EXISTS",
        "CASE",    "WHEN",   "THEN",      "ELSE",   "END",       "CAST",   "UNION",   "DISTINCT",
        "ALL",     "EXCEPT", "WITH",      "DESC",   "RECURSIVE", "ASC",    "OFFSET",  "COLLATE",
        "VALUES",  "OVER",   "PARTITION", "FILTER", "INTERSECT", "CROSS",  "INNER",   "NATURAL",
        "EXPLAIN", "QUERY",  "PLAN",      "NULLS",  "FIRST",     "LAST",   "ROWS",    "RANGE",
        NULL,
};

const char *const sql_builtins[] = {
        "abs",     "avg",    "coalesce",   "count",  "group_concat", "ifnull", "instr",  "lag",
        "lead",    "length", "lower",      "max",    "min",          "nullif", "printf", "rank",
        "replace", "round",  "row_number", "substr", "sum",          "total",  "upper",  NULL,
};

enum advice_about { ABOUT_TABLE = 1, ABOUT_COLUMN = 2, ABOUT_FUNCTION = 4, ABOUT_KEYWORD = 8 };

/* Never the word itself: it is known, and yet not here. */
static void offer(struct near *n, const char *known) {
        if (strlen(known) != n->n || strncasecmp(known, n->word, n->n) != 0)
                near_offer(n, known);
}

static void offer_all(struct near *n, const char *const *words) {
        for (; *words; words++)
                offer(n, *words);
}

static bool is_in_word(char c) {
        return isalnum((unsigned char)c) || c == '_';
}

/* Whether it is a word of the statement. */
static bool names(const char *statement, const char *table) {
        size_t n = strlen(table);

        for (const char *at = statement; *at; at++)
                if ((at == statement || !is_in_word(at[-1])) && strncasecmp(at, table, n) == 0 &&
                    !is_in_word(at[n]))
                        return true;
        return false;
}

/* How many tables a statement names; *ret_one is one of them. */
static size_t n_named(const struct sql *s, const char *statement, const char **ret_one) {
        size_t n, n_found = 0;
        const struct sql_table_info *tables = sql_tables(s, &n);

        for (size_t i = 0; i < n; i++)
                if (names(statement, tables[i].name)) {
                        *ret_one = tables[i].name;
                        n_found++;
                }
        return n_found;
}

static const char *nearest(const struct sql *s, const char *statement, const char *word,
                           size_t n_bytes, unsigned about) {
        const char *one = NULL;
        bool is_any = !n_named(s, statement, &one);
        struct near n;
        size_t n_tables, n_functions;
        const struct sql_table_info *tables = sql_tables(s, &n_tables);
        const struct sql_function_info *functions = sql_functions(&n_functions);

        near_init(&n, word, n_bytes);
        for (size_t i = 0; about & ABOUT_TABLE && i < n_tables; i++)
                offer(&n, tables[i].name);
        for (size_t i = 0; about & ABOUT_COLUMN && i < n_tables; i++)
                for (size_t k = 0; k < tables[i].n_columns; k++)
                        if (is_any || names(statement, tables[i].name))
                                offer(&n, tables[i].columns[k].name);
        for (size_t i = 0; about & ABOUT_FUNCTION && i < n_functions; i++)
                offer(&n, functions[i].name);
        if (about & ABOUT_FUNCTION)
                offer_all(&n, sql_builtins);
        if (about & ABOUT_KEYWORD)
                offer_all(&n, sql_keywords);
        return near_best(&n);
}

static void append(struct err *e, const char *what, const char *name) {
        char text[sizeof(e->text)];

        snprintf(text, sizeof(text), "%s", e->text);
        snprintf(e->text, sizeof(e->text), "%.300s: %s%.100s%s", text, what, name ? name : "",
                 name ? "'?" : "");
}

/* "no such column: s.fuction" is about fuction. */
static const char *last_part(const char *name) {
        const char *dot = strrchr(name, '.');

        return dot ? dot + 1 : name;
}

static const char *bare_name(const char *text, const char *marker) {
        const char *at = strstr(text, marker);

        return at ? last_part(at + strlen(marker)) : NULL;
}

static void advise_syntax(const struct sql *s, struct err *e) {
        const char *begin = strchr(e->text, '"'), *end = begin ? strchr(begin + 1, '"') : NULL;
        char word[NEAR_MAX_BYTES + 1];
        const char *best;
        size_t n;

        if (!end || strncmp(e->text, "near ", 5) != 0 ||
            (n = (size_t)(end - begin) - 1) >= sizeof(word))
                return;
        for (size_t i = 0; i < n; i++)
                word[i] = (char)toupper((unsigned char)begin[1 + i]);
        best = nearest(s, "", word, n, ABOUT_KEYWORD);
        if (best)
                append(e, "did you mean '", best);
}

/* Where the columns of a statement's tables are listed. */
static void append_schema(const struct sql *s, const char *statement, struct err *e) {
        const char *one = NULL;
        char text[100];

        snprintf(text, sizeof(text), ".schema%s%s lists them",
                 n_named(s, statement, &one) == 1 ? " " : "",
                 n_named(s, statement, &one) == 1 ? one : "");
        append(e, text, NULL);
}

/* "main" in the place of a text. */
static bool is_quoted(const char *statement, const char *name) {
        size_t n = strlen(name);

        for (const char *at = statement; (at = strchr(at, '"')); at++)
                if (strncmp(at + 1, name, n) == 0 && at[1 + n] == '"')
                        return true;
        return false;
}

/* ---- statements that end too early --------------------------------------------------------------- */

enum { MAX_SHOWN_BYTES = 24 };

/* How a statement ends. */
struct ending {
        size_t quote; /* where the text or name begins that has no end; SIZE_MAX: there is none */
        size_t last, n_last; /* the last word, or sign, before a ';' */
        int n_open;          /* brackets */
};

static size_t skip_comment(const char *text, size_t i) {
        const char *end;

        if (text[i] == '-' && text[i + 1] == '-') {
                end = strchr(text + i, '\n');
        } else if (text[i] == '/' && text[i + 1] == '*') {
                end = strstr(text + i + 2, "*/");
                end = end ? end + 1 : NULL;
        } else {
                return i;
        }
        return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* Behind its other end; SIZE_MAX: it has none. Two of them are one inside. */
static size_t skip_quoted(const char *text, size_t i) {
        char close = text[i] == '[' ? ']' : text[i];
        const char *end = text + i;

        do
                end = strchr(end + 1, close);
        while (end && close != ']' && end[1] == close && *++end);
        return end ? (size_t)(end - text) + 1 : SIZE_MAX;
}

static struct ending ending_of(const char *text) {
        struct ending e = {.quote = SIZE_MAX};
        size_t i = 0, next;

        while (text[i] && !(text[i] == ';' && e.n_last)) {
                next = skip_comment(text, i);
                if (next == i && strchr("'\"`[", text[i])) {
                        next = skip_quoted(text, i);
                        if (next == SIZE_MAX) {
                                e.quote = i;
                                return e;
                        }
                        e.last = i;
                        e.n_last = next - i;
                } else if (next == i && is_in_word(text[i])) {
                        while (is_in_word(text[next]))
                                next++;
                        e.last = i;
                        e.n_last = next - i;
                } else if (next == i) {
                        next++;
                        e.n_open += (text[i] == '(') - (text[i] == ')');
                        if (!isspace((unsigned char)text[i]) && text[i] != ';') {
                                e.last = i;
                                e.n_last = 1;
                        }
                }
                i = next;
        }
        return e;
}

/* As much of it as is shown, in whole characters. */
static int shown_bytes(const char *text, size_t n_bytes) {
        size_t n = MIN(n_bytes, (size_t)MAX_SHOWN_BYTES);

        while (n < n_bytes && n && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        return (int)n;
}

/* False: it does not end too early. */
static bool tell_ending(const char *statement, struct err *e) {
        struct ending x;
        bool is_cut = strcmp(e->text, "incomplete input") == 0 ||
                      strncmp(e->text, "near \";\"", strlen("near \";\"")) == 0;

        if (!is_cut &&
            strncmp(e->text, "unrecognized token: ", strlen("unrecognized token: ")) != 0)
                return false;
        x = ending_of(statement);
        if (x.quote != SIZE_MAX)
                snprintf(e->text, sizeof(e->text), "the %s that begins with %.*s has no end",
                         statement[x.quote] == '\'' ? "text" : "name",
                         shown_bytes(statement + x.quote, strlen(statement + x.quote)),
                         statement + x.quote);
        else if (is_cut && x.n_last)
                snprintf(e->text, sizeof(e->text),
                         "the statement is not complete: it ends behind '%.*s'%s",
                         shown_bytes(statement + x.last, x.n_last), statement + x.last,
                         x.n_open > 0 ? ", and a '(' has no ')'" : "");
        err_make_one_line(e->text);
        return x.quote != SIZE_MAX || (is_cut && x.n_last);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

void sql_advise(const struct sql *s, const char *statement, bool has_shell, struct err *e) {
        static const struct {
                const char *marker;
                unsigned about;
                const char *else_do;
        } kinds[] = {
                {"no such table: ", ABOUT_TABLE, ".tables lists them"},
                {"no such column: ", ABOUT_COLUMN, NULL},
                {"no such function: ", ABOUT_FUNCTION, ".functions lists silt's own"},
        };

        if (tell_ending(statement, e))
                return;
        if (strstr(e->text, "no such table: other.") && !sql_has_other(s)) {
                if (has_shell)
                        append(e, "add --other FILE", NULL);
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                const char *name = bare_name(e->text, kinds[i].marker), *best;

                if (!name)
                        continue;
                best = nearest(s, statement, name, strlen(name), kinds[i].about);
                if (!best && !kinds[i].else_do && is_quoted(statement, name))
                        append(e, "a text is written in single quotes", NULL);
                else if (!best && !has_shell)
                        return;
                else if (!best && !kinds[i].else_do)
                        append_schema(s, statement, e);
                else
                        append(e, best ? "did you mean '" : kinds[i].else_do, best);
                return;
        }
        advise_syntax(s, e);
}
