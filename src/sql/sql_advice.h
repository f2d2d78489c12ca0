/* SPDX-License-Identifier: MIT */
/* What to do about a statement that SQLite does not understand: the name that was probably meant, where to look names up. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "sql/sql.h"

/* Keywords and functions of SQLite itself that people use in questions, ended by NULL. */
extern const char *const sql_keywords[], *const sql_builtins[];

/* Adds it to the text of an error of sql_prepare; what SQLite said stays in front, unless the statement ends too early: then where is
 * said. has_shell: whoever reads it has the shell's commands (".tables") and options. */
void sql_advise(const struct sql *s, const char *statement, bool has_shell, struct err *e);
