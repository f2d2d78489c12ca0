/* SPDX-License-Identifier: MIT */
/* Moments that the program told of by itself (include/silt/silt.h): notes of the trace that begin with "mark".
 * Inside report/ only. */
#pragma once

#include "base/json.h"
#include "report/chart.h"
#include "report/gather.h"

/* False: a note of the recorder's. */
bool mark_read(const struct trace_note *note, struct chart_mark *ret, uint32_t *ret_pid);

/* Those of the scope, in the arena. */
void marks_gather(const struct report *r, struct chart *c);
void marks_put(struct json *j, const struct trace_view *v);
