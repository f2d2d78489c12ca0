/* SPDX-License-Identifier: MIT */
/* Samples of time as ticks (docs/cpu.md), with the processes and threads that the source tells. Inside import/ only.
 *
 *   import_trace_begin(t, &(struct import_begin){.pid = 4711, .command = "server"}, &err);   // without is_totals
 *   k = import_ticks_new(t, 4711);
 *   import_ticks_name(k, (struct import_task){4711, 4712}, "worker");
 *   import_ticks_put(k, &(struct import_tick){.task = {4711, 4712}, …}, &err);
 *
 * A process, and a thread, is in the trace from its first sample on; what is told of it before is kept. Times count from the start of the
 * recording and do not go back. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "import/import_trace.h"

struct import_ticks;

/* A thread, as the kernel numbers it. */
struct import_task {
        uint32_t pid, tid;
};

/* pid: of the process that the trace was begun with. */
struct import_ticks *import_ticks_new(struct import_trace *t, uint32_t pid);
struct import_ticks *import_ticks_free(struct import_ticks *k); /* NULL ok; returns NULL */

/* A new thread, or the first of a new process. It has its parent's name. */
void import_ticks_fork(struct import_ticks *k, struct import_task child, struct import_task parent,
                       uint64_t time_ns);
void import_ticks_name(struct import_ticks *k, struct import_task task, const char *name);
void import_ticks_exec(struct import_ticks *k, uint32_t pid, uint64_t time_ns);
void import_ticks_exit(struct import_ticks *k, uint32_t pid, uint64_t time_ns);

struct import_tick {
        uint64_t time_ns, weight_ns;
        struct import_task task;
        uint32_t stack;
        enum trace_tick_state state;
};
int import_ticks_put(struct import_ticks *k, const struct import_tick *tick, struct err *reterr);
/* How much of it was that of idle processors, which perf counts as a process: a limit of the trace. */
void import_ticks_tell(const struct import_ticks *k);
