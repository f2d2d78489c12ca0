/* SPDX-License-Identifier: MIT */
/* Functions of texts that SQLite has too: the same answers, in time that follows the length of the texts, or with a look at whether the statement
 * is to stop. SQLite's own look at nothing while they run, and some take minutes for two texts of a megabyte. Inside sql/ only. */
#pragma once

#include <stdbool.h>

struct err;
struct sql_space;
struct sqlite3;

int text_function_create_all(struct sqlite3 *db, struct sql_space *space, struct err *reterr);
bool text_function_is(const char *name);
