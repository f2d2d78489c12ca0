/* SPDX-License-Identifier: MIT */
#include "sql/sql_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/units.h"
#include "base/visible.h"
#include "sql/sql_grid.h"

static const char *const form_names[] = {
        [SQL_FORM_TABLE] = "table", [SQL_FORM_JSON] = "json", [SQL_FORM_CSV] = "csv"};

int sql_form_parse(const char *name, enum sql_form *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(form_names); i++)
                if (strcmp(name, form_names[i]) == 0) {
                        *ret = (enum sql_form)i;
                        return 0;
                }
        return -EINVAL;
}

static bool is_shown(const struct sql_print *p, const struct sql_rows *rows, size_t column) {
        return !p->recipe || sql_column_name(rows, column)[0] != '_';
}

/* The first row, or that there is none, and the sentence of a recipe about it. As sql_next. */
static int first_row(struct sql_rows *rows, const struct sql_print *p, struct str *ret_says,
                     struct err *reterr) {
        int r = sql_next(rows, reterr), x = 0;

        if (r >= 0 && p->recipe)
                x = recipe_says(p->recipe, rows, r > 0, p->values, p->n_values, ret_says, reterr);
        return x < 0 ? x : r;
}

static void before_output(const struct sql_print *p, FILE *to) {
        if (p->before_output)
                p->before_output(p->ctx, to);
}

/* Each once: what is found out later comes later. */
static void say_doubts(struct sql *s, const struct sql_print *p, struct str *said) {
        const char *doubts = sql_doubts(s);
        struct str clean = {0};

        if (!p->words || !doubts[0] || strcmp(doubts, str_text(said)) == 0)
                return;
        str_clear(said);
        str_add(said, doubts);
        style_add_clean(&clean, doubts);
        fflush(p->out);
        before_output(p, p->words);
        fprintf(p->words, "silt: %s\n", str_text(&clean));
        str_done(&clean);
}

/* ---- values ------------------------------------------------------------------------------------ */

enum { VALUE_TEXT_BYTES = 40 };

/* The shortest that reads back as the same number, and as one that is not whole. */
static const char *real_text(double v, char ret[VALUE_TEXT_BYTES]) {
        if (fabs(v) < 1e15 && v == (double)(int64_t)v) {
                snprintf(ret, VALUE_TEXT_BYTES, "%s%lld.0", signbit(v) && v == 0 ? "-" : "",
                         (long long)v);
                return ret;
        }
        for (int digits = 15; digits <= 17; digits++) {
                snprintf(ret, VALUE_TEXT_BYTES, "%.*g", digits, v);
                if (strtod(ret, NULL) == v)
                        break;
        }
        if (isfinite(v) && !strpbrk(ret, ".e"))
                strcat(ret, ".0");
        return ret;
}

/* As SQL writes them: X'00FF'. */
static void add_blob(struct str *to, const struct sql_value *v) {
        str_add(to, "X'");
        for (size_t i = 0; i < v->n_bytes; i++)
                str_addf(to, "%02X", (unsigned char)v->text[i]);
        str_add(to, "'");
}

/* ---- table ------------------------------------------------------------------------------------- */

/* As people read it. */
static void grid_recipe_value(struct grid *g, const struct query *q, const char *column,
                              const struct sql_value *v) {
        struct str text = {0};

        recipe_add_value(&text, q, column, *v);
        grid_number(g, str_text(&text));
        str_done(&text);
}

static void grid_value(struct grid *g, const struct sql_value *v) {
        char number[VALUE_TEXT_BYTES];
        struct str blob = {0};

        switch (v->kind) {
        case SQL_NULL: grid_null(g, "NULL"); break;
        case SQL_INTEGER:
                snprintf(number, sizeof(number), "%lld", (long long)v->integer);
                grid_number(g, number);
                break;
        case SQL_REAL: grid_number(g, real_text(v->real, number)); break;
        case SQL_TEXT: grid_text(g, v->text, v->n_bytes); break;
        case SQL_BLOB:
                add_blob(&blob, v);
                grid_text(g, str_text(&blob), blob.n);
                str_done(&blob);
                break;
        }
}

/* Of findings: what was found, and the command that shows more. */
static enum grid_kind kind_of(const char *column) {
        if (strcmp(column, "next") == 0)
                return GRID_COMMAND;
        return strcmp(column, "finding") == 0 || strcmp(column, "text") == 0 ? GRID_PROSE
                                                                             : GRID_CUT;
}

/* Of a recipe without the units, which its values have. */
static void grid_names(struct grid *g, const struct sql_rows *rows, const struct sql_print *p) {
        for (size_t i = 0; i < sql_n_columns(rows); i++) {
                struct str name = {0};

                if (!is_shown(p, rows, i))
                        continue;
                if (p->recipe)
                        recipe_add_heading(&name, sql_column_name(rows, i));
                else
                        str_add(&name, sql_column_name(rows, i));
                grid_name(g, str_text(&name), kind_of(sql_column_name(rows, i)));
                str_done(&name);
        }
}

static int print_table(struct sql *s, struct sql_rows *rows, const struct sql_print *p,
                       struct err *reterr) {
        size_t n_columns = sql_n_columns(rows);
        struct unit_text count;
        struct str said = {0}, says = {0};
        struct grid g;
        bool is_stopped;
        int r;

        grid_init(&g, p->out);
        g.without_names = p->without_names;
        grid_names(&g, rows, p);
        r = first_row(rows, p, &says, reterr);
        if (r >= 0 && says.n) {
                say_doubts(s, p, &said);
                before_output(p, p->out);
                style_wrap(&g.s, str_text(&says), 0);
                fputs(r > 0 ? "\n" : "", p->out);
        }
        str_done(&says);
        for (; r > 0 && !ferror(p->out); r = sql_next(rows, reterr)) {
                for (size_t i = 0; i < n_columns; i++) {
                        struct sql_value v = sql_value(rows, i);

                        if (!is_shown(p, rows, i))
                                continue;
                        if (p->recipe && v.kind == SQL_NULL)
                                grid_null(&g, "-");
                        else if (p->recipe && (v.kind == SQL_INTEGER || v.kind == SQL_REAL))
                                grid_recipe_value(&g, sql_query(rows), sql_column_name(rows, i),
                                                  &v);
                        else
                                grid_value(&g, &v);
                }
                if (grid_is_full(&g)) {
                        say_doubts(s, p, &said);
                        before_output(p, p->out);
                        grid_flush(&g);
                }
        }
        is_stopped = r == -ECANCELED || r == -ETIME;
        if (r >= 0 || g.is_begun || (is_stopped && g.cells.n)) {
                say_doubts(s, p, &said);
                before_output(p, p->out);
                if (!p->recipe || g.cells.n)
                        grid_flush(&g);
                if (!p->recipe || r < 0)
                        fprintf(p->out, "%s row%s%s\n", unit_count(&count, g.n_rows_printed),
                                unit_s(g.n_rows_printed), r < 0 ? " so far" : "");
        }
        grid_done(&g);
        str_done(&said);
        return r;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void json_value(struct json *j, const struct sql_value *v) {
        char number[VALUE_TEXT_BYTES];
        struct str blob = {0};

        switch (v->kind) {
        case SQL_NULL: json_null(j); break;
        case SQL_INTEGER: json_int(j, v->integer); break;
        case SQL_REAL:
                if (isfinite(v->real))
                        json_number(j, real_text(v->real, number));
                else
                        json_null(j);
                break;
        case SQL_TEXT: json_stringn(j, v->text, v->n_bytes); break;
        case SQL_BLOB:
                add_blob(&blob, v);
                json_string(j, str_text(&blob));
                str_done(&blob);
                break;
        }
}

static int print_json(struct sql *s, struct sql_rows *rows, const struct sql_print *p,
                      struct err *reterr) {
        size_t n_columns = sql_n_columns(rows);
        struct str says = {0};
        struct json j;
        int r = first_row(rows, p, &says, reterr);

        if (r < 0) {
                str_done(&says);
                return r;
        }
        before_output(p, p->out);
        json_init(&j, p->out);
        json_object(&j);
        json_put_string(&j, "schema", p->schema ? p->schema : "silt.sql/1");
        if (p->recipe) {
                json_put_string(&j, "recipe", p->recipe->name);
                json_put_string(&j, "says", str_text(&says));
        }
        str_done(&says);
        json_key(&j, "columns");
        json_array(&j);
        for (size_t i = 0; i < n_columns; i++)
                if (is_shown(p, rows, i))
                        json_string(&j, sql_column_name(rows, i));
        json_end(&j);
        json_key(&j, "rows");
        json_array(&j);
        for (; r > 0 && !ferror(p->out); r = sql_next(rows, reterr)) {
                before_output(p, p->out);
                json_array(&j);
                for (size_t i = 0; i < n_columns; i++) {
                        struct sql_value v = sql_value(rows, i);

                        if (is_shown(p, rows, i))
                                json_value(&j, &v);
                }
                json_end(&j);
        }
        if (r < 0)
                return r;
        json_end(&j);
        json_put_string(&j, "incomplete", sql_doubts(s));
        json_end(&j);
        return 0;
}

/* ---- CSV --------------------------------------------------------------------------------------- */

#define NO_CHARACTER "\xef\xbf\xbd" /* U+FFFD, as in JSON */

/* How much of a text is UTF-8 and has no quote. */
static size_t csv_n_whole(const char *text, size_t n) {
        uint32_t code;
        size_t i = 0, len;

        while (i < n && text[i] != '"' && (len = str_utf8_decode(text + i, n - i, &code)) > 0)
                i += len;
        return i;
}

/* In a file as it is; on a terminal nothing that steers it. */
static void csv_text(FILE *out, bool is_terminal, const char *text, size_t n) {
        char shown[VISIBLE_MAX];
        bool is_quoted = !n; /* "" is the empty text, nothing is NULL */
        size_t n_shown, len;

        for (size_t i = 0; i < n && !is_quoted; i++)
                is_quoted = text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n';
        if (n && (text[0] == ' ' || text[n - 1] == ' '))
                is_quoted = true;
        if (is_quoted)
                fputc('"', out);
        for (size_t i = 0; i < n; i += len) {
                len = 1;
                if (text[i] == '"') {
                        fputs("\"\"", out);
                } else if (!is_terminal) {
                        len = csv_n_whole(text + i, n - i);
                        if (len)
                                fwrite(text + i, 1, len, out);
                        else
                                fputs(NO_CHARACTER, out);
                        len = MAX(len, (size_t)1);
                } else if (text[i] == '\n') {
                        fputc('\n', out);
                } else {
                        len = visible_first(text + i, n - i, shown, &n_shown);
                        fwrite(shown, 1, n_shown, out);
                }
        }
        if (is_quoted)
                fputc('"', out);
}

static void csv_value(FILE *out, bool is_terminal, const struct sql_value *v) {
        char number[VALUE_TEXT_BYTES];
        struct str blob = {0};

        switch (v->kind) {
        case SQL_NULL: break;
        case SQL_INTEGER: fprintf(out, "%lld", (long long)v->integer); break;
        case SQL_REAL: fputs(isfinite(v->real) ? real_text(v->real, number) : "", out); break;
        case SQL_TEXT: csv_text(out, is_terminal, v->text, v->n_bytes); break;
        case SQL_BLOB:
                add_blob(&blob, v);
                fputs(str_text(&blob), out);
                str_done(&blob);
                break;
        }
}

static void csv_names(const struct sql_rows *rows, const struct sql_print *p, bool is_terminal) {
        for (size_t i = 0; i < sql_n_columns(rows); i++) {
                if (!is_shown(p, rows, i))
                        continue;
                fputs(i ? "," : "", p->out);
                csv_text(p->out, is_terminal, sql_column_name(rows, i),
                         strlen(sql_column_name(rows, i)));
        }
        fputs("\r\n", p->out);
}

static int print_csv(struct sql *s, struct sql_rows *rows, const struct sql_print *p,
                     struct err *reterr) {
        size_t n_columns = sql_n_columns(rows);
        bool is_terminal = isatty(fileno(p->out)) == 1;
        struct str said = {0};
        int r = sql_next(rows, reterr);

        if (r < 0)
                return r;
        say_doubts(s, p, &said);
        before_output(p, p->out);
        if (!p->without_names)
                csv_names(rows, p, is_terminal);
        for (; r > 0 && !ferror(p->out); r = sql_next(rows, reterr)) {
                before_output(p, p->out);
                for (size_t i = 0; i < n_columns; i++) {
                        struct sql_value v = sql_value(rows, i);

                        if (!is_shown(p, rows, i))
                                continue;
                        fputs(i ? "," : "", p->out);
                        csv_value(p->out, is_terminal, &v);
                }
                fputs("\r\n", p->out);
        }
        say_doubts(s, p, &said);
        str_done(&said);
        return MIN(r, 0);
}

int sql_print(struct sql *s, struct sql_rows *rows, const struct sql_print *p, struct err *reterr) {
        int r = -EINVAL;

        switch (p->form) {
        case SQL_FORM_TABLE: r = print_table(s, rows, p, reterr); break;
        case SQL_FORM_JSON: r = print_json(s, rows, p, reterr); break;
        case SQL_FORM_CSV: r = print_csv(s, rows, p, reterr); break;
        }
        return MIN(r, 0);
}
