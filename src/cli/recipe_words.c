/* SPDX-License-Identifier: MIT */
#include "cli/recipe_words.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/macros.h"
#include "cli/sql_watch.h"
#include "show/style.h"

/* ---- recipes ------------------------------------------------------------------------------------- */

static size_t widest_name(const struct recipes *r) {
        size_t widest = 0;

        for (size_t i = 0; i < recipes_n(r); i++)
                if (!recipes_at(r, i)->trouble)
                        widest = MAX(widest, strlen(recipes_at(r, i)->name));
        return widest;
}

static void list_as_text(const struct recipes *r) {
        size_t widest = widest_name(r);
        struct style style;

        style_init(&style, stdout);
        for (size_t i = 0; i < recipes_n(r); i++) {
                const struct recipe *one = recipes_at(r, i);

                if (one->trouble)
                        continue;
                printf("%s%-*s%s  ", style.bold, (int)widest, one->name, style.plain);
                style_wrap(&style, one->help, widest + 2);
        }
}

static void list_as_json(const struct recipes *r) {
        struct json j;

        json_init(&j, stdout);
        json_object(&j);
        json_put_string(&j, "schema", "silt.recipes/1");
        json_key(&j, "recipes");
        json_array(&j);
        for (size_t i = 0; i < recipes_n(r); i++) {
                const struct recipe *one = recipes_at(r, i);

                if (one->trouble)
                        continue;
                json_object(&j);
                json_put_string(&j, "name", one->name);
                json_put_string(&j, "help", one->help);
                json_key(&j, "path");
                if (one->path)
                        json_string(&j, one->path);
                else
                        json_null(&j);
                json_key(&j, "parameters");
                json_array(&j);
                for (size_t k = 0; k < one->n_parameters; k++) {
                        json_object(&j);
                        json_put_string(&j, "name", one->parameters[k].name);
                        json_put_string(&j, "default", one->parameters[k].without);
                        json_put_string(&j, "allowed", one->parameters[k].allowed);
                        json_put_string(&j, "help", one->parameters[k].help);
                        json_end(&j);
                }
                json_end(&j);
                json_end(&j);
        }
        json_end(&j);
        json_end(&j);
}

void recipe_words_list(const struct recipes *r, bool as_json) {
        for (size_t i = 0; i < recipes_n(r); i++) {
                const struct recipe *one = recipes_at(r, i);
                struct str text = {0};

                if (!one->trouble)
                        continue;
                style_add_clean(&text, one->path ? one->path : one->name);
                fprintf(stderr, "silt: cannot use '%s': %s\n", str_text(&text), one->trouble);
                str_done(&text);
        }
        if (as_json)
                list_as_json(r);
        else
                list_as_text(r);
}

/* "glibc|jemalloc": the words that are allowed. Bounds of numbers are told where they are broken. */
static void add_words(struct str *to, const char *allowed) {
        if (!strchr(allowed, '|'))
                return;
        str_add(to, "; ");
        for (const char *at = allowed; *at;) {
                size_t n = strcspn(at, "|");
                struct str word = {0};

                str_addn(&word, at, n);
                style_add_clean(to, str_text(&word));
                str_done(&word);
                at += n;
                if (*at)
                        str_add(to, strchr(++at, '|') ? ", " : " or ");
        }
}

void recipe_words_help(const struct recipe *r, struct str *to) {
        str_addf(to, "usage: silt ask FILE %s [options]\n\n", r->name);
        style_add_clean(to, r->help);
        str_add(to, "\n");
        for (size_t i = 0; i < r->n_parameters; i++) {
                const struct recipe_parameter *p = &r->parameters[i];
                char option[RECIPE_MAX_NAME + 1];
                size_t begin;

                str_add(to, i ? "" : "\nparameters:\n");
                recipe_option_name(p, option);
                begin = to->n;
                str_addf(to, "      --%s VALUE", option);
                style_pad_to(to, begin, 26);
                str_add(to, to->n - begin > 26 ? "  " : "");
                style_add_clean(to, p->help);
                add_words(to, p->allowed);
                if (p->without[0]) {
                        str_add(to, " (");
                        style_add_clean(to, p->without);
                        str_add(to, ")\n");
                } else
                        str_add(to, "; must be given\n");
        }
        str_add(to,
                "\n'silt ask --help' lists the options of every recipe, and --sql prints the statement.\n");
}

int recipe_words_statement(const struct recipe *r, const struct recipe_value *values,
                           size_t n_values, struct err *reterr) {
        struct str text = {0};
        int x = recipe_write_out(r, values, n_values, &text, reterr);

        if (x >= 0) {
                fputs(str_text(&text), stdout);
                if (!text.n || text.bytes[text.n - 1] != '\n')
                        putchar('\n');
        }
        str_done(&text);
        return x;
}

/* ---- answers ------------------------------------------------------------------------------------- */

int recipe_words_answer(const struct recipe_answer *a, bool *ret_is_interrupted,
                        struct err *reterr) {
        struct sql_watch watch;
        int r;

        sql_watch_begin(&watch, a->sql, stdout);
        r = sql_print(a->sql, a->rows,
                      &(struct sql_print){.out = stdout,
                                          .form = a->form,
                                          .schema = "silt.ask/1",
                                          .words = stderr,
                                          .before_output = sql_watch_wipe,
                                          .ctx = &watch,
                                          .recipe = a->recipe,
                                          .values = a->values,
                                          .n_values = a->n_values},
                      reterr);
        *ret_is_interrupted = sql_watch_end(&watch);
        return r;
}
