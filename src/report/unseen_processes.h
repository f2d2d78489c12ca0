/* SPDX-License-Identifier: MIT */
/* Processes that silt could not enter: said where a report opens, because whatever they allocated is missing from it.
 * Inside report/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct report;
struct str;
struct trace_limit;

enum { UNSEEN_MAX = 65 }; /* programs; a recorder names no more */

bool unseen_is_any(const struct report *r);

/* "3 processes were not seen: 2 of busybox (it is a static executable), …"; nothing where all were seen. */
void unseen_add_sentence(const struct report *r, struct str *to);

/* One per program, with the count of its processes; at most UNSEEN_MAX. */
size_t unseen_limits(const struct report *r, struct trace_limit *ret, size_t cap);

/* "unseen_processes": [{"program", "processes", "reason"}] */
void unseen_put_json(struct json *j, const struct report *r);
