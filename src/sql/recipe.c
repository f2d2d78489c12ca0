/* SPDX-License-Identifier: MIT */
/* One recipe: its comment lines, its parameters and its sentence. */
#include "sql/recipe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/visible.h"
#include "query/trace_times.h"

/* Everything that a recipe points to. */
struct recipe_held {
        struct recipe recipe; /* first */
        char *name, *path, *text;
        char trouble[240];
};

__attribute__((format(printf, 2, 3))) static void trouble_set(struct recipe_held *h,
                                                              const char *fmt, ...) {
        va_list ap;

        if (h->recipe.trouble)
                return;
        va_start(ap, fmt);
        vsnprintf(h->trouble, sizeof(h->trouble), fmt, ap);
        va_end(ap);
        err_make_one_line(h->trouble);
        h->recipe.trouble = h->trouble;
}

/* ---- names and values ---------------------------------------------------------------------------- */

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_byte(char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* How many bytes of text are a name; 0: it begins with none. */
static size_t name_bytes(const char *text) {
        size_t n = 0;

        if (!is_letter(text[0]))
                return 0;
        while (is_name_byte(text[n]))
                n++;
        return n <= RECIPE_MAX_NAME ? n : 0;
}

/* The same but for _ and -. */
static bool is_same_name(const char *name, const char *other, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (name[i] == '\0' ||
                    (name[i] == '_' ? '-' : name[i]) != (other[i] == '_' ? '-' : other[i]))
                        return false;
        return name[n] == '\0';
}

const struct recipe_parameter *recipe_parameter(const struct recipe *r, const char *name,
                                                size_t n_bytes) {
        for (size_t i = 0; i < r->n_parameters; i++)
                if (is_same_name(r->parameters[i].name, name, n_bytes))
                        return &r->parameters[i];
        return NULL;
}

static bool is_whole_number(const char *text) {
        size_t n = text[0] == '-';

        if (!text[n])
                return false;
        while (text[n] >= '0' && text[n] <= '9')
                n++;
        return text[n] == '\0';
}

/* 1M, 64K: what times and numbers are not. */
static bool is_size(const char *text) {
        size_t n = strlen(text);
        uint64_t bytes;

        return n > 1 && strchr("BKMGT", text[n - 1]) && unit_parse_bytes(text, &bytes, NULL) >= 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Ends text before its blanks at the end, and skips those at its begin. */
static char *trim(char *text) {
        size_t n;

        while (*text == ' ' || *text == '\t')
                text++;
        n = strlen(text);
        while (n && strchr(" \t\r", text[n - 1]))
                n--;
        text[n] = '\0';
        return text;
}

/* "10 (1..)": cuts off what values are allowed, and returns it. "" if there is none. Bounds can stand alone: "(1..)". */
static const char *cut_allowed(char *text) {
        size_t n = strlen(text);
        char *open = strrchr(text, '(');

        if (!open || text[n - 1] != ')' || (open == text ? !strstr(text, "..") : open[-1] != ' '))
                return "";
        text[n - 1] = open[open == text ? 0 : -1] = '\0';
        return open + 1;
}

/* What a value looks like: the default, or where there is none the lower bound. */
static void take_kind(struct recipe_parameter *p) {
        size_t n = strcspn(p->allowed, ".");
        char like[RECIPE_MAX_NAME + 1] = "";

        if (!p->without[0] && n < sizeof(like))
                memcpy(like, p->allowed, n);
        p->is_number = is_whole_number(p->without[0] ? p->without : like);
        p->is_size = is_size(p->without[0] ? p->without : like);
}

/* "needs sites.frees: what was freed". */
static void take_need(struct recipe_held *h, char *line) {
        struct recipe *r = &h->recipe;
        char *colon = strstr(line, ": ");

        if (!colon) {
                trouble_set(h, "it needs something without a name: write '-- needs TABLE.COLUMN: "
                               "what that tells'");
                return;
        }
        if (r->n_needs == RECIPE_MAX_NEEDS) {
                trouble_set(h, "it needs more than %d things", RECIPE_MAX_NEEDS);
                return;
        }
        *colon = '\0';
        r->needs[r->n_needs++] = (struct recipe_need){.what = trim(line), .help = trim(colon + 1)};
}

/* "since = 10s: the moment": NAME, '=', the default until ": ". False: it is an ordinary comment. */
static bool take_parameter(struct recipe_held *h, char *line) {
        struct recipe *r = &h->recipe;
        size_t n = name_bytes(line);
        char *after = line + n, *colon;
        struct recipe_parameter *p;

        if (n == 0 || memchr(line, '-', n))
                return false;
        while (*after == ' ')
                after++;
        colon = *after == '=' ? strchr(after, ':') : NULL;
        while (colon && colon[1] && colon[1] != ' ')
                colon = strchr(colon + 1, ':');
        if (!colon)
                return false;
        line[n] = colon[0] = '\0';
        if (recipe_parameter(r, line, n))
                trouble_set(h, "it declares %s twice: leave one out", line);
        if (r->n_parameters == RECIPE_MAX_PARAMETERS) {
                trouble_set(h, "it declares more than %d parameters", RECIPE_MAX_PARAMETERS);
                return true;
        }
        p = &r->parameters[r->n_parameters++];
        *p = (struct recipe_parameter){.name = line, .help = trim(colon + 1)};
        p->allowed = cut_allowed(trim(after + 1));
        p->without = trim(after + 1);
        take_kind(p);
        return true;
}

static void take_comment(struct recipe_held *h, char *line) {
        struct recipe *r = &h->recipe;
        static const char says[] = "says:", nothing[] = "says nothing:", needs[] = "needs ";

        line = trim(line);
        if (!r->help)
                r->help = line;
        else if (strncmp(line, says, strlen(says)) == 0)
                r->says = trim(line + strlen(says));
        else if (strncmp(line, nothing, strlen(nothing)) == 0)
                r->says_nothing = trim(line + strlen(nothing));
        else if (strncmp(line, needs, strlen(needs)) == 0)
                take_need(h, line + strlen(needs));
        else
                take_parameter(h, line);
}

/* The comment lines at its begin; the statement is the rest. */
static void read_text(struct recipe_held *h) {
        char *at = h->text;

        for (;;) {
                char *end;

                at += strspn(at, " \t\r\n");
                if (strncmp(at, "--", 2) != 0)
                        break;
                end = at + strcspn(at, "\n");
                if (*end)
                        *end++ = '\0';
                take_comment(h, at + 2);
                at = end;
        }
        h->recipe.statement = at;
        if (!h->recipe.help || !h->recipe.help[0]) {
                h->recipe.help = "";
                trouble_set(h, "its first line is not a comment that says what it answers: write "
                               "'-- …' there");
        } else if (!*at)
                trouble_set(h, "it has no statement below its comments");
}

static bool is_text(const char *text, size_t n_bytes) {
        uint32_t code;

        for (size_t i = 0, n; i < n_bytes; i += n) {
                n = str_utf8_decode(text + i, n_bytes - i, &code);
                if (text[i] == '\0' || ((unsigned char)text[i] >= 0x80 && n < 2))
                        return false;
        }
        return true;
}

struct recipe *recipe_new(const char *name, const char *path, const char *text, size_t n_bytes) {
        struct recipe_held *h = calloc(1, sizeof(*h));

        if (!h || !(h->name = strdup(name)) || (path && !(h->path = strdup(path))))
                abort();
        h->recipe.name = h->name;
        h->recipe.path = h->path;
        h->recipe.help = h->recipe.statement = "";
        if (name_bytes(name) != strlen(name))
                trouble_set(h, "its name is not made of letters, digits, - and _ alone");
        else if (n_bytes > RECIPE_MAX_BYTES)
                trouble_set(h, "it is larger than %d KiB", RECIPE_MAX_BYTES >> 10);
        else if (!is_text(text, n_bytes))
                trouble_set(h, "it is not text in UTF-8");
        else {
                h->text = strndup(text, n_bytes);
                if (!h->text)
                        abort();
                h->recipe.help = NULL;
                read_text(h);
        }
        return &h->recipe;
}

struct recipe *recipe_free(struct recipe *r) {
        struct recipe_held *h = (struct recipe_held *)r;

        if (!h)
                return NULL;
        free(h->name);
        free(h->path);
        free(h->text);
        free(h);
        return NULL;
}

/* ---- asking -------------------------------------------------------------------------------------- */

/* As it was given, else the default; NULL: neither. The last of several counts. */
static const char *value_of(const struct recipe_parameter *p, const struct recipe_value *values,
                            size_t n_values) {
        for (size_t i = n_values; i-- > 0;)
                if (is_same_name(p->name, values[i].name, strlen(values[i].name)))
                        return values[i].text;
        return p->without[0] ? p->without : NULL;
}

void recipe_option_name(const struct recipe_parameter *p, char ret[RECIPE_MAX_NAME + 1]) {
        size_t n = 0;

        for (; p->name[n] && n < RECIPE_MAX_NAME; n++)
                ret[n] = p->name[n] == '_' ? '-' : p->name[n];
        ret[n] = '\0';
}

/* A bound or a value, in the unit of its parameter. */
static bool number_of(const struct recipe_parameter *p, const char *text, long double *ret) {
        uint64_t n;

        if (p->is_number) {
                *ret = strtold(text, NULL);
                return is_whole_number(text);
        }
        if ((p->is_size ? unit_parse_bytes : unit_parse_duration)(text, &n, NULL) < 0)
                return false;
        *ret = (long double)n;
        return true;
}

/* "1..": from that on; "1..100". */
static bool is_in_bounds(const struct recipe_parameter *p, const char *dots, const char *text) {
        size_t n = MIN((size_t)(dots - p->allowed), (size_t)RECIPE_MAX_NAME);
        char least[RECIPE_MAX_NAME + 1] = "";
        long double value, bound;

        memcpy(least, p->allowed, n);
        if (!number_of(p, text, &value))
                return false;
        if (number_of(p, least, &bound) && value < bound)
                return false;
        return !number_of(p, dots + 2, &bound) || value <= bound;
}

/* "glibc|jemalloc": one of these words. */
static bool is_one_of(const char *words, const char *text) {
        size_t n_text = strlen(text);

        for (const char *at = words;; at++) {
                size_t n = strcspn(at, "|");

                if (n == n_text && memcmp(at, text, n) == 0)
                        return true;
                at += n;
                if (!*at)
                        return false;
        }
}

static int check_allowed(const struct recipe_parameter *p, const char *option, const char *text,
                         struct err *reterr) {
        const char *dots = strstr(p->allowed, "..");

        if (!p->allowed[0] || (dots ? is_in_bounds(p, dots, text) : is_one_of(p->allowed, text)))
                return 0;
        if (!dots)
                return err_set(reterr, -EINVAL, "--%s: '%s' is none of %s", option, text,
                               p->allowed);
        if (dots[2])
                return err_set(reterr, -EINVAL, "--%s: '%s' is not in %s", option, text,
                               p->allowed);
        return err_set(reterr, -EINVAL, "--%s: '%s' is not %.*s or more", option, text,
                       (int)(dots - p->allowed), p->allowed);
}

/* The value as the statement takes it; *ret_number is room for one. */
static int value_to_bind(const struct recipe *r, const struct recipe_parameter *p, const char *text,
                         struct unit_text *ret_number, const char **ret, struct err *reterr) {
        char option[RECIPE_MAX_NAME + 1];
        struct err why = {0};
        uint64_t bytes;

        recipe_option_name(p, option);
        if (!text)
                return err_set(reterr, -EINVAL, "the recipe %s needs --%s: %s", r->name, option,
                               p->help);
        if (p->is_number && !is_whole_number(text))
                return err_set(reterr, -EINVAL, "--%s: '%s' is not a whole number", option, text);
        if (check_allowed(p, option, text, reterr) < 0)
                return -EINVAL;
        *ret = text;
        if (p->is_size) {
                if (unit_parse_bytes(text, &bytes, &why) < 0)
                        return err_set(reterr, -EINVAL, "--%s: %s", option, why.text);
                snprintf(ret_number->s, sizeof(ret_number->s), "%llu",
                         (unsigned long long)MIN(bytes, (uint64_t)INT64_MAX));
                *ret = ret_number->s;
        }
        return 0;
}

static int bind_one(const struct recipe *r, const struct recipe_parameter *p, const char *text,
                    struct sql_rows *rows, struct err *reterr) {
        struct unit_text number;
        int x = value_to_bind(r, p, text, &number, &text, reterr);

        if (x >= 0)
                x = sql_bind(rows, p->name, text, reterr);
        return x == -ENOENT ? 0 : x; /* what only the sentence names */
}

int recipe_bind(const struct recipe *r, struct sql_rows *rows, const struct recipe_value *values,
                size_t n_values, struct err *reterr) {
        const char *name;
        int x = 0;

        for (size_t i = 0; (name = sql_parameter(rows, i)); i++)
                if (!recipe_parameter(r, name, strlen(name)))
                        return err_set(
                                reterr, -EINVAL,
                                "the recipe %s does not declare :%s: write '-- %s = …: …' at "
                                "its begin",
                                r->name, name, name);
        for (size_t i = 0; i < r->n_parameters && x >= 0; i++)
                x = bind_one(r, &r->parameters[i], value_of(&r->parameters[i], values, n_values),
                             rows, reterr);
        return x;
}

/* ---- what it needs ------------------------------------------------------------------------------- */

static int check_need(const struct recipe *r, const struct recipe_need *need, struct sql *s,
                      const struct recipe_value *values, size_t n_values, struct err *reterr) {
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        size_t n_table = name_bytes(need->what);
        const char *column = need->what + n_table + 1;
        bool is_column = n_table && need->what[n_table] == '.' && name_bytes(column) &&
                         name_bytes(column) == strlen(column);
        struct str text = {0};
        int x;

        if (is_column)
                str_addf(&text, "SELECT EXISTS (SELECT 1 FROM %.*s WHERE %s IS NOT NULL)",
                         (int)n_table, need->what, column);
        else
                str_addf(&text, "SELECT %s", need->what);
        x = sql_prepare(s, str_text(&text), &rows, NULL, reterr);
        str_done(&text);
        if (x >= 0 && rows)
                x = recipe_bind(r, rows, values, n_values, reterr);
        if (x >= 0)
                x = rows ? sql_next(rows, reterr) : 0;
        if (x < 0)
                return x;
        if (x > 0 && sql_value(rows, 0).kind == SQL_INTEGER && sql_value(rows, 0).integer != 0)
                return 0;
        return err_set(reterr, -ENODATA, "this trace does not tell %s, which the recipe %s needs",
                       need->help, r->name);
}

int recipe_check_needs(const struct recipe *r, struct sql *s, const struct recipe_value *values,
                       size_t n_values, struct err *reterr) {
        int x = 0;

        for (size_t i = 0; i < r->n_needs && x >= 0; i++)
                x = check_need(r, &r->needs[i], s, values, n_values, reterr);
        return x;
}

/* ---- the sentence -------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
        size_t n = strlen(name), n_end = strlen(end);

        return n > n_end && strcmp(name + n - n_end, end) == 0;
}

/* Nobody counts these. */
static bool is_number_of_something(const char *column) {
        return strcmp(column, "pid") == 0 || strcmp(column, "tid") == 0 ||
               strcmp(column, "line") == 0 || strcmp(column, "id") == 0 ||
               strcmp(column, "stack") == 0;
}

static void add_count(struct str *to, int64_t n) {
        struct unit_text t;

        if (n < 0)
                str_addn(to, "-", 1);
        str_add(to, unit_count(&t, n < 0 ? -(uint64_t)n : (uint64_t)n));
}

static void add_real(struct str *to, double real) {
        if (real >= 1000 && real < 1e15)
                add_count(to, (int64_t)(real + 0.5));
        else
                str_addf(to, "%.6g", real);
}

/* Words that columns end with whose values are moments. */
static bool is_moment(const char *column) {
        static const char *const ends[] = {"at_ns",   "begin_ns", "end_ns",   "freed_ns",
                                           "from_ns", "peak_ns",  "start_ns", "time_ns"};

        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
                if (strcmp(column, ends[i]) == 0 ||
                    (ends_with(column, ends[i]) &&
                     column[strlen(column) - strlen(ends[i]) - 1] == '_'))
                        return true;
        return false;
}

/* Without times moments are numbered, and nobody knows how long something took. */
static void add_time(struct str *to, const struct query *q, const char *column, uint64_t ns) {
        struct unit_text t;

        if (query_has_times(q) || is_moment(column))
                str_add(to, query_moment_text(q, &t, ns));
        else
                str_add(to, "?");
}

void recipe_add_value(struct str *to, const struct query *q, const char *column,
                      struct sql_value v) {
        struct unit_text t;

        switch (v.kind) {
        case SQL_NULL: str_add(to, "?"); break;
        case SQL_INTEGER:
                if (ends_with(column, "_bytes"))
                        str_add(to, v.integer < 0 ? unit_weight_signed(&t, v.integer)
                                                  : unit_weight(&t, (uint64_t)v.integer));
                else if (ends_with(column, "_ns") && v.integer >= 0)
                        add_time(to, q, column, (uint64_t)v.integer);
                else if (is_number_of_something(column))
                        str_addf(to, "%lld", (long long)v.integer);
                else
                        add_count(to, v.integer);
                break;
        case SQL_REAL: add_real(to, v.real); break;
        case SQL_TEXT: visible_add(to, v.text); break;
        case SQL_BLOB: str_addf(to, "%zu bytes", v.n_bytes); break;
        }
}

void recipe_add_heading(struct str *to, const char *column) {
        size_t n = strlen(column);

        if (ends_with(column, "_bytes"))
                n -= strlen("_bytes");
        else if (ends_with(column, "_ns"))
                n -= strlen("_ns");
        for (size_t i = 0; i < n; i++)
                str_addn(to, column[i] == '_' ? " " : &column[i], 1);
}

/* {blocks|block}: "1 block", "2 blocks". */
static void add_noun(struct str *to, const char *word, size_t n, struct sql_value v) {
        if (n == 0)
                return;
        str_addn(to, " ", 1);
        str_addn(to, word, n);
        if (v.kind != SQL_INTEGER || v.integer != 1)
                str_addn(to, "s", 1);
}

/* What stands in a pair of braces. */
static int add_named(const struct recipe *r, const struct sql_rows *rows, bool has_row,
                     const char *name, size_t n_all, const struct recipe_value *values,
                     size_t n_values, struct str *to, struct err *reterr) {
        const char *bar = memchr(name, '|', n_all);
        size_t n = bar ? (size_t)(bar - name) : n_all;
        const struct recipe_parameter *p =
                name[0] == ':' && n > 1 ? recipe_parameter(r, name + 1, n - 1) : NULL;
        const char *text = p ? value_of(p, values, n_values) : NULL;

        if (text) {
                visible_add(to, text);
                return 0;
        }
        for (size_t i = 0; has_row && i < sql_n_columns(rows); i++)
                if (strlen(sql_column_name(rows, i)) == n &&
                    memcmp(sql_column_name(rows, i), name, n) == 0) {
                        recipe_add_value(to, sql_query(rows), sql_column_name(rows, i),
                                         sql_value(rows, i));
                        if (bar)
                                add_noun(to, bar + 1, n_all - n - 1, sql_value(rows, i));
                        return 0;
                }
        return err_set(
                reterr, -EINVAL,
                "the sentence of the recipe %s names {%.*s}, which is neither a column of its "
                "answer nor a parameter",
                r->name, (int)MIN(n, (size_t)80), name);
}

/* Whether the part that begins here, until ']', names a column that is NULL. */
static bool is_unknown(const struct sql_rows *rows, const char *part) {
        size_t n_part = strcspn(part, "]");

        for (size_t at = 0; at < n_part; at++) {
                size_t n = part[at] == '{' ? strcspn(part + at + 1, "|}") : 0;

                for (size_t i = 0; n && i < sql_n_columns(rows); i++)
                        if (strlen(sql_column_name(rows, i)) == n &&
                            memcmp(sql_column_name(rows, i), part + at + 1, n) == 0 &&
                            sql_value(rows, i).kind == SQL_NULL)
                                return true;
        }
        return false;
}

int recipe_says(const struct recipe *r, const struct sql_rows *rows, bool has_row,
                const struct recipe_value *values, size_t n_values, struct str *to,
                struct err *reterr) {
        const char *at = has_row ? r->says : r->says_nothing;

        while (at && *at) {
                size_t n = strcspn(at, "{[]");
                const char *end = at[n] == '{' ? strchr(at + n, '}') : NULL;
                int x;

                if (at[n] == '[' || at[n] == ']') { /* what is left out if it is not known */
                        str_addn(to, at, n);
                        at += n + 1;
                        if (at[-1] == '[' && has_row && is_unknown(rows, at))
                                at += strcspn(at, "]");
                        continue;
                }

                if (!end) { /* no pair: as it stands there */
                        str_add(to, at);
                        break;
                }
                str_addn(to, at, n);
                x = add_named(r, rows, has_row, at + n + 1, (size_t)(end - at) - n - 1, values,
                              n_values, to, reterr);
                if (x < 0)
                        return x;
                at = end + 1;
        }
        return 0;
}

/* ---- written out --------------------------------------------------------------------------------- */

/* How many bytes from here on are a text in quotes or a comment; 0: neither begins here. */
static size_t quoted_bytes(const char *at) {
        const char *end = NULL;

        if (at[0] == '\'' || at[0] == '"' || at[0] == '`')
                end = strchr(at + 1, at[0]);
        else if (at[0] == '-' && at[1] == '-')
                end = strchr(at, '\n');
        else if (at[0] == '/' && at[1] == '*') {
                end = strstr(at + 2, "*/");
                end = end ? end + 1 : NULL;
        } else
                return 0;
        return end ? (size_t)(end - at) + 1 : strlen(at);
}

static void add_literal(struct str *to, const char *text) {
        if (is_whole_number(text) && strlen(text) < 19) {
                str_add(to, text);
                return;
        }
        str_add(to, "'");
        for (; *text; text++) {
                str_addn(to, text, 1);
                if (*text == '\'') /* a quote in a text is two of them */
                        str_addn(to, text, 1);
        }
        str_add(to, "'");
}

int recipe_write_out(const struct recipe *r, const struct recipe_value *values, size_t n_values,
                     struct str *to, struct err *reterr) {
        for (const char *at = r->statement; *at;) {
                size_t n = quoted_bytes(at);
                const struct recipe_parameter *p = NULL;

                if (n == 0 && at[0] == ':') {
                        size_t n_name = 0;

                        while (is_name_byte(at[1 + n_name]) && at[1 + n_name] != '-')
                                n_name++;
                        p = recipe_parameter(r, at + 1, n_name);
                        n = p ? 1 + n_name : 1;
                }
                if (p) {
                        struct unit_text number;
                        const char *text;
                        int x = value_to_bind(r, p, value_of(p, values, n_values), &number, &text,
                                              reterr);

                        if (x < 0)
                                return x;
                        add_literal(to, text);
                } else
                        str_addn(to, at, MAX(n, (size_t)1));
                at += MAX(n, (size_t)1);
        }
        return 0;
}
