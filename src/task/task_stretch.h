/* SPDX-License-Identifier: MIT */
/* For how long a thread was in tasks of one kind at every look. Whether that was one poll or many, looks do not tell. Inside task/ only. */
#pragma once

#include "base/str.h"
#include "query/query.h"

struct task_stretch {
        struct str runs; /* "app::serve" */
        uint64_t ns;     /* on a CPU: what it waited between is not counted */
        uint64_t n_samples;
        uint64_t begin_ns, end_ns;
        uint32_t stack; /* where it was most of the looks last */
};

/* The longest of a process; false: there are no ticks, or none is in a task. Calls on threads
 * for what may block are none. */
bool task_stretch_find(struct query *q, uint32_t process, struct task_stretch *ret);
void task_stretch_done(struct task_stretch *s);
