/* SPDX-License-Identifier: MIT */
/* printf and format: SQLite's own, whose answer is NULL without a word where the text is too long. These say so. Inside sql/ only. */
#pragma once

struct err;
struct sqlite3;

int format_function_create_all(struct sqlite3 *db, struct err *reterr);
