/* SPDX-License-Identifier: MIT */
/* Statements of SQL in a file, or in what comes on standard input. */
#pragma once

#include "base/err.h"

/* All of it, as a text without a NUL, in *ret: to be freed. What it is called stands in messages. */
int statement_file_read(int fd, const char *name, char **ret, struct err *reterr);
