/* SPDX-License-Identifier: MIT */
/* Findings about tasks among those of a report (docs/findings.md). */
#pragma once

#include "finding/finding.h"
#include "show/frame.h"

/* Of the newest graph of the answer's process, if it has tasks: puts what they show before all that may be their doing. */
void task_findings_add(struct findings *to, struct query *q, const struct frame_names *names,
                       const struct query_answer *answer);
