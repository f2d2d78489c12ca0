/* SPDX-License-Identifier: MIT */
/* Recipes: questions with a name. Each is a file of SQL whose first comment line is its help; further ones declare what can be set, and
 * the sentence that goes before the answer (docs/recipes.md):
 *
 *   -- Call paths that grew most from a moment on.
 *   -- since = 10s: the moment after warming up
 *   -- top = 10 (1..): show so many
 *   -- needs sites.frees: what was freed
 *   -- says: {function} grew most since {:since}: {grown}.
 *   -- says nothing: Nothing grew since {:since}.
 *   SELECT function, bytes(growth_bytes) AS grown FROM window(:since) …
 *
 * Files of users are hostile: what is wrong with one is told in a line, and does not keep others from being used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "sql/sql.h"

enum {
        RECIPE_MAX_BYTES = 64 << 10, /* of a file */
        RECIPE_MAX_FILES = 1000,     /* of a folder */
        RECIPE_MAX_PARAMETERS = 16,
        RECIPE_MAX_NEEDS = 8,
        RECIPE_MAX_NAME = 40, /* bytes of a name */
};

/* Options have minus signs where its name has underscores: --at-least of :at_least. */
struct recipe_parameter {
        const char *name;
        const char *without; /* its value if none is given; "": one must be given */
        const char *allowed; /* "1..", "1..100": bounds; "glibc|jemalloc": words; "": anything */
        const char *help;
        bool is_size, is_number; /* as its default is: 1M; 10 */
};

/* What a trace must know, so that "nothing" is not said of what is unknown. */
struct recipe_need {
        const char *
                what; /* TABLE.COLUMN, of which a row is not NULL; else an expression that is true */
        const char *help; /* what that tells */
};

struct recipe {
        const char *name, *help;
        const char *path;                /* NULL: built in */
        const char *trouble;             /* why this file cannot be used; NULL: it can */
        const char *says, *says_nothing; /* of an answer with rows, and without; NULL: nothing */
        const char *statement;           /* as the file has it below its comment lines */
        struct recipe_parameter parameters[RECIPE_MAX_PARAMETERS];
        size_t n_parameters;
        struct recipe_need needs[RECIPE_MAX_NEEDS];
        size_t n_needs;
};

struct recipes;
/* The built-in ones, those of $XDG_CONFIG_HOME/silt/recipes if with_config, and those of a folder (NULL: none), by name. The later
 * takes the place of an earlier one with its name. Fails only if the folder cannot be read. */
int recipes_load(bool with_config, const char *folder, struct recipes **ret, struct err *reterr);
struct recipes *recipes_free(struct recipes *r); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct recipes, recipes_free)

size_t recipes_n(const struct recipes *r);
const struct recipe *recipes_at(const struct recipes *r, size_t i);
const struct recipe *recipes_find(const struct recipes *r, const char *name); /* NULL: none */

/* A text as a recipe, which takes a copy of it; what is wrong with it is its trouble. */
struct recipe *recipe_new(const char *name, const char *path, const char *text, size_t n_bytes);
struct recipe *recipe_free(struct recipe *r); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct recipe, recipe_free)

/* The name of its option, without the dashes. */
void recipe_option_name(const struct recipe_parameter *p, char ret[RECIPE_MAX_NAME + 1]);

struct recipe_value {
        const char *name; /* of a parameter, as the recipe or as an option writes it */
        const char *text;
};

/* The parameter that has this name, or whose option has; NULL: none. */
const struct recipe_parameter *recipe_parameter(const struct recipe *r, const char *name,
                                                size_t n_bytes);
/* Gives a statement of the recipe its parameters: the values given, else the defaults. */
int recipe_bind(const struct recipe *r, struct sql_rows *rows, const struct recipe_value *values,
                size_t n_values, struct err *reterr);

/* -ENODATA: the trace does not tell what the recipe needs. */
int recipe_check_needs(const struct recipe *r, struct sql *s, const struct recipe_value *values,
                       size_t n_values, struct err *reterr);

/* The sentence before the answer: {column} of the row that rows stands on, {column|block} with a noun behind the number, {:parameter}; [a part] in brackets is left out if a column in it is NULL. Nothing is added if the recipe has none.
 * -EINVAL: a brace names neither. */
int recipe_says(const struct recipe *r, const struct sql_rows *rows, bool has_row,
                const struct recipe_value *values, size_t n_values, struct str *to,
                struct err *reterr);

/* A value as people read it: sizes of columns whose names end in _bytes, durations of those in _ns, and counts. */
void recipe_add_value(struct str *to, const struct query *q, const char *column,
                      struct sql_value v);

/* The name of a column above such values: without its unit, and with blanks for underscores. */
void recipe_add_heading(struct str *to, const char *column);

/* The statement with its parameters written out, as `silt sql` takes it. */
int recipe_write_out(const struct recipe *r, const struct recipe_value *values, size_t n_values,
                     struct str *to, struct err *reterr);
