/* SPDX-License-Identifier: MIT */
/* What clock the moments of a trace are told by. Where its source has no times they are numbered: the n-th is at n seconds. */
#pragma once

#include "base/units.h"
#include "query/query.h"

bool query_has_times(const struct query *q);
/* What is numbered, where there are no times: "event", "moment". */
const char *query_moment_name(const struct query *q);
/* As unit_duration, or "event 3". */
const char *query_moment_text(const struct query *q, struct unit_text *t, uint64_t ns);
