/* SPDX-License-Identifier: MIT */
/* Findings about tasks among those of a report (docs/findings.md). */
#pragma once

#include "finding/finding.h"
#include "show/frame.h"

struct str;

/* One sentence about the tasks of the newest graph of a process (QUERY_ALL: of any); false: there is none, or it has none. */
bool tasks_tell_newest(struct query *q, const struct frame_names *names, uint32_t process,
                       struct str *to);

/* Of the newest graph of the answer's process, if it has tasks: puts what they show before all that may be their doing. */
void task_findings_add(struct findings *to, struct query *q, const struct frame_names *names,
                       const struct query_answer *answer);
