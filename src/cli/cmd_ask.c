/* SPDX-License-Identifier: MIT */
/* silt ask: reads the command line, in which parameters of the recipe are options, and leaves the rest to sql/. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/near.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_ask.h"
#include "cli/missing_names.h"
#include "cli/recipe_words.h"
#include "cli/sql_traces.h"
#include "cli/sql_words.h"
#include "show/opened.h"
#include "sql/recipe.h"
#include "sql/sql.h"
#include "sql/sql_advice.h"

enum {
        N_ASK_OPTIONS = ARRAY_SIZE(ask_option_table),
        ASK_PARAMETER = 1 << 16, /* and its number: above the generated ids */
        DEFAULT_MAX_TIME_S = 600,
        MIN_TOPIC_BYTES = 4, /* shorter words are in many questions */
        MAX_MEANT_RECIPES = 5,
};

struct ask_words {
        const char *path, *recipe_name, *other_path, *folder;
        struct recipes *recipes;
        const struct recipe *recipe;
        struct recipe_value values[64];
        size_t n_values;
        struct request request;
        uint64_t max_memory_bytes, max_time_ns;
        bool is_list, is_sql;
        enum sql_form form;
        bool is_interrupted; /* Ctrl-C */
        /* the command line with the recipe's parameters in it */
        struct cli_command command;
        struct cli_option options[N_ASK_OPTIONS + RECIPE_MAX_PARAMETERS];
        char option_names[RECIPE_MAX_PARAMETERS][RECIPE_MAX_NAME + 1];
        struct str help;
};

/* ---- which recipe -------------------------------------------------------------------------------- */

static const struct cli_option *fixed_option(const char *name, size_t n) {
        for (size_t i = 0; i < N_ASK_OPTIONS; i++)
                if (strncmp(ask_option_table[i].long_name, name, n) == 0 &&
                    !ask_option_table[i].long_name[n])
                        return &ask_option_table[i];
        return NULL;
}

/* The words that decide what the others mean: the recipe, and where recipes are. Options that are not silt's own are parameters, and all
 * of these take a value. */
static void look_ahead(struct ask_words *w, int argc, char **argv) {
        bool only_operands = false;

        for (int i = 1; i < argc; i++) {
                const char *word = argv[i];

                if (!only_operands && strcmp(word, "--") == 0)
                        only_operands = true;
                else if (!only_operands && word[0] == '-' && word[1] == '-') {
                        size_t n = strcspn(word + 2, "=");
                        const struct cli_option *o = fixed_option(word + 2, n);
                        bool has_value = word[2 + n] == '=';
                        const char *value = has_value ? word + 3 + n : NULL;

                        if (!has_value && (!o || o->value_name) && i + 1 < argc)
                                value = argv[++i];
                        if (o && o->id == ASK_RECIPES)
                                w->folder = value;
                } else if (only_operands || word[0] != '-' || !word[1]) {
                        if (!w->path)
                                w->path = word;
                        else if (!w->recipe_name)
                                w->recipe_name = word;
                }
        }
}

static const char *near_recipe(const struct ask_words *w, const char *word) {
        struct near near;

        near_init(&near, word, strlen(word));
        for (size_t i = 0; i < recipes_n(w->recipes); i++)
                near_offer(&near, recipes_at(w->recipes, i)->name);
        return near_best(&near);
}

/* The word as it is, or as the beginning of one: "leaks" is in "a leak?". */
static bool is_about(const struct recipe *one, const char *word) {
        size_t n = strlen(word);
        char stem[RECIPE_MAX_NAME + 1];

        if (n < MIN_TOPIC_BYTES || n >= sizeof(stem))
                return false;
        memcpy(stem, word, n + 1);
        if (stem[n - 1] == 's')
                stem[n - 1] = '\0';
        for (const char *at = one->help; at && (at = strcasestr(at, stem)); at++)
                if (at == one->help || !isalpha((unsigned char)at[-1]))
                        return true;
        return strcasestr(one->name, stem) != NULL;
}

/* "'lost', 'suspects' or 'temporary'": the one that is called nearly so, and those whose questions have the word, unless they are too many
 * to be told. Empty: there is none. */
static void add_meant_recipes(const struct ask_words *w, const char *word, struct str *to) {
        const char *found[MAX_MEANT_RECIPES] = {near_recipe(w, word)};
        size_t n_near = found[0] != NULL, n = n_near;

        for (size_t i = 0; i < recipes_n(w->recipes); i++) {
                const struct recipe *one = recipes_at(w->recipes, i);

                if (one->name == found[0] || !is_about(one, word))
                        continue;
                if (n == ARRAY_SIZE(found)) {
                        n = n_near;
                        break;
                }
                found[n++] = one->name;
        }
        for (size_t i = 0; i < n; i++)
                str_addf(to, "%s'%s'", !i ? "" : i + 1 == n ? " or " : ", ", found[i]);
}

/* False after an error was printed. */
static bool find_recipe(struct ask_words *w, struct cli_parser *p) {
        struct str meant = {0};

        w->recipe = recipes_find(w->recipes, w->recipe_name);
        if (w->recipe && w->recipe->trouble) {
                cli_parser_error(p, "cannot use '%s': %s", w->recipe->path, w->recipe->trouble);
                return false;
        }
        if (w->recipe)
                return true;
        add_meant_recipes(w, w->recipe_name, &meant);
        if (meant.n)
                cli_parser_error(p, "'%s' is not a recipe: did you mean %s?", w->recipe_name,
                                 str_text(&meant));
        else
                cli_parser_error(p, "'%s' is not a recipe: 'silt ask --list' lists them",
                                 w->recipe_name);
        str_done(&meant);
        return false;
}

/* ---- options ------------------------------------------------------------------------------------- */

/* Silt's own options, and the recipe's parameters. False after an error was printed. */
static bool make_command(struct ask_words *w, struct cli_parser *p) {
        size_t n = N_ASK_OPTIONS;

        memcpy(w->options, ask_option_table, sizeof(ask_option_table));
        for (size_t i = 0; w->recipe && i < w->recipe->n_parameters; i++) {
                const struct recipe_parameter *of = &w->recipe->parameters[i];

                recipe_option_name(of, w->option_names[i]);
                if (fixed_option(w->option_names[i], strlen(w->option_names[i]))) {
                        cli_parser_error(
                                p,
                                "cannot use '%s': its parameter %s has the name of an option "
                                "of silt ask: rename it",
                                w->recipe->path, of->name);
                        return false;
                }
                w->options[n++] = (struct cli_option){.id = ASK_PARAMETER + (int)i,
                                                      .long_name = w->option_names[i],
                                                      .value_name = "VALUE"};
        }
        if (w->recipe)
                recipe_words_help(w->recipe, &w->help);
        w->command =
                (struct cli_command){.name = "ask",
                                     .help_text = w->recipe ? str_text(&w->help) : ask_help_text,
                                     .options = w->options,
                                     .n_options = n,
                                     .usage_exit_status = EXIT_STATUS_TROUBLE};
        return true;
}

static bool take_parameter(struct ask_words *w, int id, struct cli_parser *p) {
        if (w->n_values == ARRAY_SIZE(w->values)) {
                cli_parser_error(p, "too many options: leave out '--%s'", p->name);
                return false;
        }
        w->values[w->n_values++] =
                (struct recipe_value){w->recipe->parameters[id - ASK_PARAMETER].name, p->value};
        return true;
}

static bool take_operand(struct ask_words *w, struct cli_parser *p) {
        if (p->value == w->path || p->value == w->recipe_name)
                return true;
        cli_parser_error(p, "only one recipe can be asked: leave out '%s'", p->value);
        return false;
}

/* False after an error was printed. */
static bool take_word(struct ask_words *w, int id, struct cli_parser *p) {
        if (id >= ASK_PARAMETER && id != CLI_OPTION_HELP)
                return take_parameter(w, id, p);
        if (id == CLI_STOP)
                return false;
        if (id == CLI_OPERAND)
                return take_operand(w, p);
        switch ((enum ask_option)id) {
        case ASK_LIST: w->is_list = true; break;
        case ASK_SQL: w->is_sql = true; break;
        case ASK_JSON: return sql_take_form(p, SQL_FORM_JSON, &w->form);
        case ASK_CSV: return sql_take_form(p, SQL_FORM_CSV, &w->form);
        case ASK_OTHER: w->other_path = p->value; break;
        case ASK_MAX_MEMORY: return sql_take_max_memory(p, &w->max_memory_bytes);
        case ASK_MAX_TIME: return cli_value_duration(p, &w->max_time_ns);
        case ASK_DEBUG_PATH: return cli_take_debug_path(p);
        case ASK_PROCESS:
        case ASK_RULES: return cli_take_key(p, &w->request);
        case ASK_RECIPES:
        case ASK_OPTION_NONE: break;
        }
        return true;
}

/* A recipe, or nearly one, where the trace should stand: it was left out. NULL: it was not. */
static const char *recipe_in_place_of_path(const struct ask_words *w) {
        if (!w->path || w->recipe_name || access(w->path, F_OK) == 0)
                return NULL;
        return recipes_find(w->recipes, w->path) ? w->path : near_recipe(w, w->path);
}

static bool check_words(struct ask_words *w, struct cli_parser *p) {
        const char *recipe;

        if (w->is_sql && w->form != SQL_FORM_TABLE) {
                cli_parser_error(p, "--sql prints a statement, not an answer: leave out --%s",
                                 w->form == SQL_FORM_JSON ? "json" : "csv");
                return false;
        }
        if (w->is_list)
                return true;
        recipe = recipe_in_place_of_path(w);
        if (!w->path || recipe) {
                cli_parser_error(p, "no trace given: write 'silt ask FILE %s'",
                                 recipe ? recipe : "RECIPE");
                return false;
        }
        if (!w->recipe_name &&
            access(w->path, R_OK) != 0) { /* the list does not need it, but who asks next does */
                cli_parser_error(p, "cannot open '%s': %s: check the path", w->path,
                                 strerror(errno));
                return false;
        }
        w->is_list = !w->recipe_name;
        return true;
}

static bool parse(int argc, char **argv, struct ask_words *w, int *ret_exit_status) {
        static const struct cli_command plain = {.name = "ask",
                                                 .usage_exit_status = EXIT_STATUS_TROUBLE};
        struct cli_parser p = {.command = &plain};
        struct err err = {0};
        bool ok = true;
        int id;

        cli_missing_names_init();
        look_ahead(w, argc, argv);
        if (recipes_load(true, w->folder, &w->recipes, &err) < 0) {
                *ret_exit_status = cli_parser_error(&p, "%s", err.text);
                return false;
        }
        if (recipe_in_place_of_path(w))
                w->recipe = recipes_find(w->recipes, w->path);
        ok = (!w->recipe_name || find_recipe(w, &p)) && make_command(w, &p);
        if (ok)
                cli_parser_init(&p, &w->command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        ok = ok && check_words(w, &p);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* ---- answering ----------------------------------------------------------------------------------- */

static int prepare(struct ask_words *w, struct sql *s, struct sql_rows **ret, struct err *reterr) {
        _cleanup_(sql_rows_freep) struct sql_rows *second = NULL;
        const char *rest = "";
        struct err why = {0};
        int r = sql_prepare(s, w->recipe->statement, ret, &rest, &why);

        if (r < 0 && !w->other_path && strstr(why.text, "other."))
                return err_set(reterr, r,
                               "the recipe %s compares with a second trace: add --other FILE",
                               w->recipe->name);
        if (r < 0) {
                sql_advise(s, w->recipe->statement, false, &why);
                return err_set(reterr, r, "the recipe %s: %s", w->recipe->name, why.text);
        }
        if (!*ret)
                return err_set(reterr, -EINVAL, "the recipe %s has no statement", w->recipe->name);
        r = sql_prepare(s, rest, &second, NULL, NULL);
        if (r < 0 || second)
                return err_set(reterr, -EINVAL,
                               "the recipe %s has more than one statement: leave one of them",
                               w->recipe->name);
        r = recipe_bind(w->recipe, *ret, w->values, w->n_values, reterr);
        return r < 0 ? r : recipe_check_needs(w->recipe, s, w->values, w->n_values, reterr);
}

static int answer_with(struct ask_words *w, struct opened *t, const struct sql_options *o,
                       struct err *reterr) {
        _cleanup_(sql_freep) struct sql *s = NULL;
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        int r;

        opened_end_progress(t); /* the trace is SQL's from here on, with its limits */
        r = sql_open(o, &s, reterr);
        if (r >= 0)
                r = prepare(w, s, &rows, reterr);
        if (r < 0)
                return r;
        return recipe_words_answer(&(struct recipe_answer){.recipe = w->recipe,
                                                           .sql = s,
                                                           .rows = rows,
                                                           .values = w->values,
                                                           .n_values = w->n_values,
                                                           .form = w->form},
                                   &w->is_interrupted, reterr);
}

static int answer(struct ask_words *w, struct err *reterr) {
        struct sql_traces t;
        int r = sql_traces_open(&t, w->path, w->other_path, &w->request, reterr);

        t.options.max_memory_bytes = w->max_memory_bytes;
        t.options.max_time_ns = w->max_time_ns;
        if (r >= 0)
                r = answer_with(w, &t.one, &t.options, reterr);
        sql_traces_done(&t);
        return r;
}

int cmd_ask(int argc, char **argv) {
        struct ask_words w = {.request = REQUEST_DEFAULT,
                              .max_time_ns = DEFAULT_MAX_TIME_S * 1000000000ull};
        struct err err = {0};
        int exit_status, r = 0;

        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                if (w.is_list)
                        recipe_words_list(w.recipes, w.form == SQL_FORM_JSON);
                else if (w.is_sql)
                        r = recipe_words_statement(w.recipe, w.values, w.n_values, &err);
                else
                        r = answer(&w, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        recipes_free(w.recipes);
        str_done(&w.help);
        request_done(&w.request);
        if (w.is_interrupted) { /* a script that runs silt is to stop too */
                signal(SIGINT, SIG_DFL);
                raise(SIGINT);
        }
        return exit_status;
}
