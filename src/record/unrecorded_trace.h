/* SPDX-License-Identifier: MIT */
/* The graph of a process that nobody records as a trace that holds nothing else, so that whatever shows graphs of traces shows it. */
#pragma once

#include "record/unrecorded_graph.h"

/* Writes it to fd, which is empty and stays the caller's. What unrecorded_graph_make says. with_threads: its threads too, and they are
 * enough where there can be no graph. */
int unrecorded_trace_write(pid_t pid, int fd, bool with_threads, struct err *reterr);
