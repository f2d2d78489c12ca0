/* SPDX-License-Identifier: MIT */
/* PID|FILE of commands that show what points to what: of a process that is recorded, the recorder takes a graph now;
 * of another one, its blocks are what its allocator knows. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Whether the word means a process: a number, and no file has that name. */
bool cli_is_pid(const char *who);

/* Has the recorder of a process take a graph: 0 with the trace that has it, which lives until the next call; 1 if nobody records the process. -errno with
 * what is wrong and what to do. */
int cli_take_recorded_graph(const char *who, const char **ret_path, struct err *reterr);

/* Sets *ret_path to the trace whose newest graph is of now; it lives until the next call. with_threads: the threads of one that nobody
 * records are in it too. -errno with what is wrong and what to do. */
int cli_take_graph(const char *who, bool with_threads, const char **ret_path, struct err *reterr);
