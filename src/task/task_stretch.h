/* SPDX-License-Identifier: MIT */
/* How long threads were in tasks, by samples, and for how long one was in tasks of one kind at every look. Whether that was one poll or many, looks do not
 * tell. Inside task/ only. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "query/query.h"

struct task_stretch {
        struct str runs; /* "app::serve" */
        uint64_t ns;     /* on a CPU: what it waited between is not counted */
        uint64_t n_samples;
        uint64_t begin_ns, end_ns;
        uint32_t tid;
        uint32_t stack; /* where it was most of the looks last */
};

/* The longest of a process; false: there are no ticks, or none is in a task. Calls on threads
 * for what may block are none. */
bool task_stretch_find(struct query *q, uint32_t process, struct task_stretch *ret);
void task_stretch_done(struct task_stretch *s);

/* How long a thread was on a CPU between two moments. */
uint64_t task_ran_ns(struct query *q, uint32_t process, uint32_t tid, uint64_t from_ns,
                     uint64_t to_ns);

/* On a CPU, by what the tasks run, most first. */
struct task_time {
        char *runs; /* "app::serve"; owned */
        uint64_t ns, n_samples;
};
typedef VEC(struct task_time) task_time_list;

void task_times_find(struct query *q, uint32_t process, task_time_list *ret);
void task_times_done(task_time_list *l);
