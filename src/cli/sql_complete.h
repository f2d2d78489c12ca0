/* SPDX-License-Identifier: MIT */
/* How a statement that is being written may go on: tables behind FROM, columns of the tables it names, functions, keywords. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "sql/sql.h"

struct sql_completion {
        size_t begin;      /* where the word begins that is being written */
        VEC(char *) words; /* that it may become, sorted, each once; functions with "(" behind */
};

/* What stands before the cursor decides, and the tables that the rest names. with_other: there is a second trace. */
void sql_complete(const struct sql *s, bool with_other, const char *text, size_t cursor,
                  struct sql_completion *ret);
void sql_completion_done(struct sql_completion *c);
/* Bytes that all words begin with. */
size_t sql_completion_common(const struct sql_completion *c);

/* The table that a statement means by a name: its own, or the one it has there. NULL: none. */
const struct sql_table_info *sql_table_called(const struct sql *s, const char *text,
                                              const char *name, size_t n_name);
