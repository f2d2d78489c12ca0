/* SPDX-License-Identifier: MIT */
/* Functions of SQL about call paths, and regular expressions. The user data is the struct sql_space whose numbers are meant. Inside sql/
 * only. */
#pragma once

#include <sqlite3.h>

void path_call_stack_text(sqlite3_context *to, int n, sqlite3_value **v);
void path_call_has_frame(sqlite3_context *to, int n, sqlite3_value **v);
void path_call_regexp(sqlite3_context *to, int n, sqlite3_value **v);
