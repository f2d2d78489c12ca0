/* SPDX-License-Identifier: MIT */
/* Functions of SQL that know the trace or how people read figures. Inside sql/ only. */
#pragma once

#include <sqlite3.h>

#include "base/str.h"
#include "sql/space.h"

/* `other` is the space of the second trace, which has no query where there is none. */
int function_create_all(sqlite3 *db, struct sql_space *space, struct sql_space *other,
                        struct err *reterr);

/* Appends a bar of part * cells cells, part from 0 to 1; something of it is seen where part is not 0. */
void function_add_bar(struct str *to, double part, size_t cells);
/* False, and an error of the statement: it is about a second trace, and there is none. */
bool function_has_trace(sqlite3_context *to, const struct sql_space *space);
