/* SPDX-License-Identifier: MIT */
/* Lines that begin with a dot: what there is to ask, how a statement would be answered, and how answers are shown. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "cli/sql_session.h"

/* A line of n bytes, from its dot on. */
int sql_dot_run(struct sql_session *s, const char *line, size_t n, struct err *reterr);
/* ".tables" and so on, from 0; NULL: there are no more. */
const char *sql_dot_name(size_t i);
