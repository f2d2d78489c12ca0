/* SPDX-License-Identifier: MIT */
/* Answers of SQL as people and programs read them: a table, JSON, comma-separated values. Rows go out as they come: an answer of any length
 * takes little memory.
 *
 *   sql_prepare(s, text, &rows, &rest, &err);
 *   sql_print(s, rows, &(struct sql_print){.out = stdout, .words = stderr}, &err); */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "sql/recipe.h"
#include "sql/sql.h"

/* TABLE: columns as wide as they need to be; on a terminal texts are cut to fit its width, and where that is not enough each row is shown
 * as lines of its own. The last line is the number of rows.
 * JSON: {"schema":"silt.sql/1","columns":[…],"rows":[[…],…],"incomplete":"…"}; a failure leaves it unfinished, so that nobody takes it for whole.
 * CSV: RFC 4180 with a line of names. */
enum sql_form { SQL_FORM_TABLE, SQL_FORM_JSON, SQL_FORM_CSV };
/* "table", "json", "csv". -EINVAL: none of them. */
int sql_form_parse(const char *name, enum sql_form *ret);

struct sql_print {
        FILE *out;
        enum sql_form form;
        bool without_names; /* of columns, above a table and in CSV */
        const char *schema; /* of JSON; NULL: silt.sql/1 */
        FILE *words; /* what limits the answer (sql_doubts), a line, before it; NULL: nowhere */
        /* Called before anything is written to out or words, each time: a progress line may be in the way. NULL: nothing is. */
        void (*before_output)(void *ctx, FILE *to);
        void *ctx;
        /* Of a recipe: a sentence goes before its table, columns whose names begin with _ are for the sentence alone, a table shows those in
         * _bytes and _ns as sizes and durations, and there is none without a row. NULL: any statement. */
        const struct recipe *recipe;
        const struct recipe_value *values; /* that it was asked with */
        size_t n_values;
};

/* All rows of a statement. 0 or -errno as sql_next; what was printed until then stays. Stops where nobody takes any more of it. */
int sql_print(struct sql *s, struct sql_rows *rows, const struct sql_print *p, struct err *reterr);
