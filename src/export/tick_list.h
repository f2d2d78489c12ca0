/* SPDX-License-Identifier: MIT */
/* The ticks of a scope, thread by thread, each in the order of time: formats of samples have them so. Inside export/ only. */
#pragma once

#include "base/vec.h"
#include "export/export_job.h"
#include "query/spent_time.h"

struct tick_thread {
        uint32_t thread, process; /* of the trace */
        bool is_main;             /* the process began with it */
        size_t first, n;          /* of its ticks */
        uint64_t cpu_ns;
};

struct tick_list {
        VEC(struct trace_tick) ticks;
        VEC(struct tick_thread) threads; /* by process, its first thread before the others */
        uint64_t cpu_ns, n_cpu_samples;
};

/* Ticks in any state unless the scope says which. */
int tick_list_init(struct tick_list *l, struct query *q, const struct query_scope *scope,
                   struct err *reterr);
void tick_list_done(struct tick_list *l); /* also of one that init failed for */

/* The thread's name, or its process's if it has none. */
const char *tick_thread_name(struct query *q, uint32_t thread);
/* Its innermost frame is the kernel's. */
bool tick_is_in_kernel(const struct trace_view *v, const struct trace_tick *tick);
