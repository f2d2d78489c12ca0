/* SPDX-License-Identifier: MIT */
/* Checks a trace against docs/trace-format.md with code of its own: links without the reader, so
 * that a mistake in one is seen by the other. Recomputes from the events what rows, counts and
 * checkpoints claim. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Prints one line per problem, "T<error> chunk <number> <KIND> at offset <offset>: <what>", and
 * one line at the end. 0: nothing is wrong. 1: problems were found. -errno: the file cannot be
 * read (reterr says why). */
int trace_verify(const char *path, FILE *out, struct err *reterr);
