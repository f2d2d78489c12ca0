/* SPDX-License-Identifier: MIT */
/* Moments with a name: snapshots, and what the program told of by itself (include/silt/silt.h). Inside report/ only. */
#pragma once

#include "base/json.h"
#include "report/chart.h"
#include "report/gather.h"

/* Those of the scope, in the arena. */
void marks_gather(const struct report *r, struct chart *c);
void marks_put(struct json *j, const struct trace_view *v);
