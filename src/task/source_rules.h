/* SPDX-License-Identifier: MIT */
/* What the sources of main loops show that harms. Inside task/ only. */
#pragma once

#include "task/task_rules.h"

void source_findings_add(const struct tasks *t, bool utf8, task_finding_list *ret);
