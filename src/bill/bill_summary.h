/* SPDX-License-Identifier: MIT */
/* A bill in five lines, for a report: where resident memory went when most was resident. Nothing where the trace has no bills. */
#pragma once

#include "base/json.h"
#include "name/name.h"
#include "query/query.h"
#include "show/style.h"

/* process: of the trace, or QUERY_ALL. path: of the trace, for the next command. */
void bill_summary_print(const struct style *s, struct query *q, struct names *names,
                        uint32_t process, const char *path);
/* "bill": an object, or null. */
void bill_summary_put(struct json *j, struct query *q, struct names *names, uint32_t process);
