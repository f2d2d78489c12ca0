/* SPDX-License-Identifier: MIT */
/* What statements may do: read the tables, with functions that have no effect, within limits. Whoever writes a statement may be
 * anybody: a page, a file of somebody else. What is not listed here is refused, whatever SQLite was built with. Inside sql/ only. */
#pragma once

#include <sqlite3.h>

struct sql;

/* Before anything is made in it: nothing goes to files, nothing is loaded. */
int guard_prepare(sqlite3 *db);
/* From now on. */
void guard_close(sqlite3 *db, struct sql *s);
/* Whether a statement that SQLite has understood may run: 0, or SQLITE_AUTH with a refusal. */
int guard_check(sqlite3_stmt *statement);
/* What was refused last, for the error that SQLite makes of it ("not authorized"); "" nothing. Of the thread. */
const char *guard_refusal(void);
void guard_forget(void);
