/* SPDX-License-Identifier: MIT */
/* Resident memory beside blocks: where the two are far apart, that is the first thing to know.
 * Inside report/ only. */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "report/gather.h"

/* Of several processes the one with most resident memory; of one itself. */
uint32_t resident_process(const struct report *r);

/* Appends lead (" and used") and " up to 127 MiB of memory: …" with its parts, the largest first, or with how
 * much more was requested, of a process, or of all of the scope (QUERY_ALL). False: blocks and resident memory agree, or it is unknown, and nothing
 * was appended. */
bool resident_add(const struct report *r, uint32_t process, const char *lead, bool utf8,
                  struct str *to);
void resident_put(struct json *j, const struct report *r);
