/* SPDX-License-Identifier: MIT */
#include "cli/sql_dots.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/near.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/sql_plan.h"
#include "cli/statement_file.h"
#include "show/style.h"
#include "sql/recipe.h"

/* Longer names have their help below them. */
static size_t most_name_cells(const struct style *s) {
        return s->width / 3;
}

/* ---- lists ------------------------------------------------------------------------------------- */

/* A name and what it is, side by side; below each other where the name is long. */
static void put_entry(const struct style *s, const char *name, size_t width, const char *help) {
        size_t begin = 2 + width + 2;

        fprintf(s->out, "  %s%s%s", s->bold, name, s->plain);
        if (strlen(name) > width)
                fprintf(s->out, "\n%*s", (int)begin, "");
        else
                fprintf(s->out, "%*s", (int)(begin - 2 - strlen(name)), "");
        style_wrap(s, help, begin);
}

/* "window(from, to)". */
static void add_table_usage(const struct sql_table_info *t, struct str *to) {
        size_t n = 0;

        str_add(to, t->name);
        for (size_t i = 0; i < t->n_columns; i++)
                if (t->columns[i].is_argument)
                        str_addf(to, "%s%s", n++ ? ", " : "(", t->columns[i].name);
        if (n)
                str_add(to, ")");
}

static int list_tables(struct sql_session *s, const char *rest, struct err *reterr) {
        struct str usage = {0};
        struct style style;
        size_t n, width = 0;
        const struct sql_table_info *tables = sql_tables(s->sql, &n);

        (void)rest, (void)reterr;
        style_init(&style, s->out);
        for (size_t i = 0; i < n; i++) {
                str_clear(&usage);
                add_table_usage(&tables[i], &usage);
                width = MAX(width, MIN(usage.n, most_name_cells(&style)));
        }
        for (size_t i = 0; i < n; i++) {
                str_clear(&usage);
                add_table_usage(&tables[i], &usage);
                put_entry(&style, str_text(&usage), width, tables[i].help);
        }
        str_done(&usage);
        return 0;
}

static void put_schema(const struct style *style, const struct sql_table_info *t) {
        struct str usage = {0};
        size_t width = 0;

        add_table_usage(t, &usage);
        fprintf(style->out, "%s%s%s: ", style->bold, str_text(&usage), style->plain);
        style_wrap(style, t->help, usage.n + 2);
        str_done(&usage);
        for (size_t i = 0; i < t->n_columns; i++)
                width = MAX(width, MIN(strlen(t->columns[i].name), most_name_cells(style)));
        for (size_t i = 0; i < t->n_columns; i++) {
                struct str help = {0};

                str_addf(&help, "%s%s", t->columns[i].is_argument ? "argument: " : "",
                         t->columns[i].help);
                put_entry(style, t->columns[i].name, width, str_text(&help));
                str_done(&help);
        }
}

static int list_schema(struct sql_session *s, const char *rest, struct err *reterr) {
        size_t n, n_shown = 0;
        const struct sql_table_info *tables = sql_tables(s->sql, &n);
        struct style style;
        struct near near;

        style_init(&style, s->out);
        near_init(&near, rest, strlen(rest));
        for (size_t i = 0; i < n; i++) {
                near_offer(&near, tables[i].name);
                if (rest[0] && strcasecmp(rest, tables[i].name) != 0)
                        continue;
                if (n_shown++)
                        fputc('\n', s->out);
                put_schema(&style, &tables[i]);
        }
        if (n_shown)
                return 0;
        return near_best(&near)
                       ? err_set(reterr, -ENOENT, "no such table: %.100s: did you mean '%s'?", rest,
                                 near_best(&near))
                       : err_set(reterr, -ENOENT, "no such table: %.100s: .tables lists them",
                                 rest);
}

static int list_functions(struct sql_session *s, const char *rest, struct err *reterr) {
        size_t n, width = 0;
        const struct sql_function_info *functions = sql_functions(&n);
        struct style style;

        (void)rest, (void)reterr;
        style_init(&style, s->out);
        for (size_t i = 0; i < n; i++)
                width = MAX(width, MIN(strlen(functions[i].usage), most_name_cells(&style)));
        for (size_t i = 0; i < n; i++)
                put_entry(&style, functions[i].usage, width, functions[i].help);
        fputc('\n', s->out);
        style_wrap(&style,
                   "and those of SQLite: count, sum, min, max, avg, round, substr, printf ...", 0);
        return 0;
}

/* As it can be asked here, with its usual values in it. */
static int show_recipe(struct sql_session *s, const struct recipes *recipes, const char *name,
                       struct err *reterr) {
        const struct recipe *one = recipes_find(recipes, name);
        struct str text = {0};
        struct near near;
        int r;

        if (!one) {
                near_init(&near, name, strlen(name));
                for (size_t i = 0; i < recipes_n(recipes); i++)
                        near_offer(&near, recipes_at(recipes, i)->name);
                return near_best(&near)
                               ? err_set(reterr, -ENOENT,
                                         "no such recipe: %.100s: did you mean '%s'?", name,
                                         near_best(&near))
                               : err_set(reterr, -ENOENT,
                                         "no such recipe: %.100s: .recipes lists them", name);
        }
        if (one->trouble)
                return err_set(reterr, -EINVAL, "%s: %s", one->path, one->trouble);
        r = recipe_write_out(one, NULL, 0, &text, reterr);
        if (r >= 0)
                fprintf(s->out, "-- %s\n%s\n", one->help, str_text(&text));
        str_done(&text);
        return r;
}

static int list_recipes(struct sql_session *s, const char *rest, struct err *reterr) {
        _cleanup_(recipes_freep) struct recipes *recipes = NULL;
        size_t width = 0;
        struct style style;
        int r = recipes_load(true, NULL, &recipes, reterr);

        if (r < 0)
                return r;
        if (rest[0])
                return show_recipe(s, recipes, rest, reterr);
        style_init(&style, s->out);
        for (size_t i = 0; i < recipes_n(recipes); i++)
                width = MAX(width, strlen(recipes_at(recipes, i)->name));
        for (size_t i = 0; i < recipes_n(recipes); i++) {
                const struct recipe *one = recipes_at(recipes, i);

                put_entry(&style, one->name, width, one->trouble ? one->trouble : one->help);
        }
        fputs("\n", s->out);
        style_wrap(&style, ".recipes NAME shows one as a statement; 'silt ask FILE NAME' asks it.",
                   0);
        return 0;
}

/* ---- the others -------------------------------------------------------------------------------- */

static int explain(struct sql_session *s, const char *rest, struct err *reterr) {
        if (!rest[0])
                return err_set(reterr, -EINVAL,
                               ".explain: no statement given: write it behind, on the "
                               "same line");
        return sql_plan_print(s->sql, rest, s->out, reterr);
}

static int set_mode(struct sql_session *s, const char *rest, struct err *reterr) {
        if (!s->is_shell)
                return err_set(reterr, -EINVAL,
                               ".mode is for the shell: --json and --csv are options");
        if (sql_form_parse(rest, &s->form) < 0)
                return err_set(reterr, -EINVAL, ".mode: '%.100s' is none: write table, json or csv",
                               rest);
        return 0;
}

static int set_flag(const char *name, const char *rest, bool *ret, struct err *reterr) {
        if (strcmp(rest, "on") != 0 && strcmp(rest, "off") != 0)
                return err_set(reterr, -EINVAL, "%s: '%.100s' is none: write on or off", name,
                               rest);
        *ret = strcmp(rest, "on") == 0;
        return 0;
}

static int set_timer(struct sql_session *s, const char *rest, struct err *reterr) {
        return set_flag(".timer", rest, &s->is_timed, reterr);
}

static int set_headers(struct sql_session *s, const char *rest, struct err *reterr) {
        bool has_names = true;
        int r = set_flag(".headers", rest, &has_names, reterr);

        s->lacks_names = r >= 0 ? !has_names : s->lacks_names;
        return r;
}

/* "'my file'" or as it stands. To be freed. */
static char *file_name(const char *rest) {
        size_t n = strlen(rest);
        bool is_quoted = n > 1 && (rest[0] == '\'' || rest[0] == '"') && rest[n - 1] == rest[0];

        return is_quoted ? strndup(rest + 1, n - 2) : strdup(rest);
}

/* Statements may come from anybody; files are named by whoever sits here. */
static int check_file(const struct sql_session *s, const char *name, const char *rest,
                      struct err *reterr) {
        if (!s->is_shell || s->is_read_from_file)
                return err_set(reterr, -EPERM, "%s is for the shell, typed by hand", name);
        if (!rest[0])
                return err_set(reterr, -EINVAL, "%s: no file given: write its name behind", name);
        return 0;
}

static int set_once(struct sql_session *s, const char *rest, struct err *reterr) {
        int r = check_file(s, ".once", rest, reterr);

        if (r < 0)
                return r;
        free(s->once_path);
        s->once_path = file_name(rest);
        return 0;
}

static int read_file(struct sql_session *s, const char *rest, struct err *reterr) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = check_file(s, ".read", rest, reterr);

        if (r < 0)
                return r;
        path = file_name(rest);
        fd = fs_open(path, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0)
                return err_set_errno(reterr, fd, ".read: cannot open '%.200s'", path);
        r = statement_file_read(fd, path, &text, reterr);
        if (r < 0)
                return r;
        s->is_read_from_file = true;
        r = sql_session_run(s, text, reterr);
        s->is_read_from_file = false;
        return r;
}

static int quit(struct sql_session *s, const char *rest, struct err *reterr) {
        (void)rest, (void)reterr;
        s->is_over = true;
        return 0;
}

static int help(struct sql_session *s, const char *rest, struct err *reterr);

static const struct {
        const char *name, *usage, *help;
        int (*run)(struct sql_session *s, const char *rest, struct err *reterr);
} dots[] = {
        {".tables", ".tables", "the tables, and what a row of each is", list_tables},
        {".schema", ".schema [TABLE]", "the columns of a table, or of all", list_schema},
        {".functions", ".functions", "functions that silt adds", list_functions},
        {".recipes", ".recipes [NAME]", "questions to begin with, or one as a statement",
         list_recipes},
        {".explain", ".explain STATEMENT", "what would be read, and in which order", explain},
        {".mode", ".mode table|json|csv", "how answers are shown from now on", set_mode},
        {".headers", ".headers on|off", "whether names of columns stand above an answer",
         set_headers},
        {".timer", ".timer on|off", "say how long each answer took", set_timer},
        {".once", ".once FILE", "the next answer goes into a new file", set_once},
        {".read", ".read FILE", "answer the statements of a file", read_file},
        {".help", ".help", "this list", help},
        {".quit", ".quit", "end; so do .exit and Ctrl-D", quit},
        {".exit", ".exit", "end", quit},
};

static int help(struct sql_session *s, const char *rest, struct err *reterr) {
        struct style style;

        (void)rest, (void)reterr;
        style_init(&style, s->out);
        style_wrap(&style,
                   "Statements of SQL end with ';' and may have several lines. Tab completes, "
                   "Ctrl-C stops a statement.",
                   0);
        for (size_t i = 0; i < ARRAY_SIZE(dots); i++)
                put_entry(&style, dots[i].usage, 20, dots[i].help);
        fputs("\nTo begin with:\n  SELECT name, bytes(end_bytes) FROM sites\n"
              "  ORDER BY end_bytes DESC LIMIT 10;\n",
              s->out);
        return 0;
}

const char *sql_dot_name(size_t i) {
        return i < ARRAY_SIZE(dots) ? dots[i].name : NULL;
}

static int refuse(const char *word, size_t n, struct err *reterr) {
        struct near near;

        near_init(&near, word, n);
        for (size_t i = 0; i < ARRAY_SIZE(dots); i++)
                near_offer(&near, dots[i].name);
        if (near_best(&near))
                return err_set(reterr, -EINVAL,
                               "'%.*s' is none of the dot commands: did you mean '%s'?",
                               (int)MIN(n, (size_t)100), word, near_best(&near));
        return err_set(reterr, -EINVAL, "'%.*s' is none of the dot commands: .help lists them",
                       (int)MIN(n, (size_t)100), word);
}

int sql_dot_run(struct sql_session *s, const char *line, size_t n, struct err *reterr) {
        size_t n_word = 0, begin;
        struct str rest = {0};
        int r;

        while (n && (isspace((unsigned char)line[n - 1]) || line[n - 1] == ';'))
                n--;
        while (n_word < n && !isspace((unsigned char)line[n_word]))
                n_word++;
        for (begin = n_word; begin < n && isspace((unsigned char)line[begin]);)
                begin++;
        for (size_t i = 0; i < ARRAY_SIZE(dots); i++)
                if (strlen(dots[i].name) == n_word && strncmp(dots[i].name, line, n_word) == 0) {
                        str_addn(&rest, line + begin, n - begin);
                        r = dots[i].run(s, str_text(&rest), reterr);
                        str_done(&rest);
                        fflush(s->out);
                        return r;
                }
        return refuse(line, n_word, reterr);
}
