/* SPDX-License-Identifier: MIT */
/* What ran, for how long, what it held at most and in the end: one sentence, before all others. Inside report/ only. */
#pragma once

#include "base/json.h"
#include "base/units.h"
#include "report/gather.h"
#include "show/style.h"

void headline_print(const struct style *s, const struct report *r);
/* "headline": the same sentence. */
void headline_put(struct json *j, const struct report *r);

/* How long the scope lasted: of a process, or of the window. */
uint64_t headline_span_ns(const struct report *r);
/* How long the process ran, of all together until the last of them ended, whatever the window. */
uint64_t headline_run_ns(const struct report *r);
/* "453,000": so many a second, to three digits; "" where the time is too short to say. */
const char *headline_rate(const struct report *r, uint64_t n, struct unit_text *t);
