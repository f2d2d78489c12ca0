/* SPDX-License-Identifier: MIT */
/* What the tasks of a graph show that harms: one function a rule, most important first. Inside task/ only. */
#pragma once

#include "finding/finding.h"
#include "task/tasks_write.h"

struct task_finding {
        const char *kind;               /* "kept-tasks" */
        enum finding_severity severity; /* worth knowing: a problem where it is about much memory */
        char *text;                     /* one sentence, or two; owned */
        const struct task_group *group; /* NULL: it is about none */
        uint32_t stack;                 /* the call path that it is about; REACH_NO_SITE: unknown */
        uint64_t n_tasks, bytes;
};

typedef VEC(struct task_finding) task_finding_list;

/* All of them. */
void task_findings_tell(const struct tasks *t, bool utf8, task_finding_list *ret);
void task_findings_done(task_finding_list *l);
