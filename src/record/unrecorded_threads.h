/* SPDX-License-Identifier: MIT */
/* The threads of a process that nobody records: names, where each one waits, and what is resident of its stack. Looked at from outside, one after the other;
 * the process is not stopped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_writer;

/* Puts them into a trace: a tick for each that was seen, and a bill. Ends its slice. False: nothing could be seen. */
bool unrecorded_threads_write(struct trace_writer *w, pid_t pid, uint32_t process);
