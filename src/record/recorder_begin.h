/* SPDX-License-Identifier: MIT */
/* What the recorders of `silt run` and `silt cpu` do alike when they begin and end: their place among processes, the trace's file. */
#pragma once

#include <stddef.h>

#include "record/recorder.h"

struct trace_writer;

/* Out of the terminal's and the pipes' way: a daemon may be followed long after the supervisor has gone. name: as ps shows it. */
void recorder_leave_terminal(const char *name);

/* Takes config->trace_fd; *ret_fd is the writer's: of the file that has the trace's name, also after it was made smaller. */
int recorder_open_writer_for(const struct recorder_config *config, struct trace_writer **ret,
                             int *ret_fd, struct err *reterr);
/* Index, then names. What went wrong is in ret_trouble, which else stays as it is. */
void recorder_close_writer(const struct recorder_config *config, struct trace_writer *w, int fd,
                           char *ret_trouble, size_t cap);
