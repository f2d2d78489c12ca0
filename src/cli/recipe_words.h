/* SPDX-License-Identifier: MIT */
/* What silt ask prints. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "sql/recipe.h"
#include "sql/sql_print.h"

struct recipe_answer {
        const struct recipe *recipe;
        struct sql *sql;
        struct sql_rows *rows; /* before its first row */
        const struct recipe_value *values;
        size_t n_values;
        enum sql_form form;
};

/* The sentence, the rows, and what limits the answer. */
int recipe_words_answer(const struct recipe_answer *a, bool *ret_is_interrupted,
                        struct err *reterr);
/* All of them; files that cannot be used are told on stderr. */
void recipe_words_list(const struct recipes *r, bool as_json);
/* What silt ask RECIPE --help prints. */
void recipe_words_help(const struct recipe *r, struct str *to);
/* The statement as silt sql takes it. */
int recipe_words_statement(const struct recipe *r, const struct recipe_value *values,
                           size_t n_values, struct err *reterr);
