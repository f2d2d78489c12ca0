/* SPDX-License-Identifier: MIT */
/* How a statement would be answered, in plain words: SQLite's plan, with the conditions that tables take. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "sql/sql.h"

int sql_plan_print(struct sql *s, const char *statement, FILE *out, struct err *reterr);
