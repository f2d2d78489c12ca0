/* SPDX-License-Identifier: MIT */
/* The report of time: where threads ran and what they waited for, with allocations beside it where they were recorded. Inside report/
 * only. */
#pragma once

#include "base/json.h"
#include "report/gather.h"
#include "show/style.h"

/* "srv ran for 5.1 s and used 12.3 s of CPU time (2.4 CPUs): 61 % of it in find_route, called by serve. …" */
void time_add_headline(const struct style *s, const struct report *r, bool with_allocations,
                       struct str *to);
/* Totals, functions, waits, threads. is_beside: the report is of memory, and this is one section of it. */
int time_tables_print(const struct style *s, struct report *r, bool is_beside, struct err *reterr);
/* "time": null where there are no ticks. */
int time_put(struct json *j, struct report *r, struct err *reterr);
