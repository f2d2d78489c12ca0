/* SPDX-License-Identifier: MIT */
/* Resident memory beside blocks: where most of it is something else, that is the first thing to know.
 * Inside report/ only. */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "report/gather.h"

/* Appends lead (" and took") and " up to 127 MiB of memory, of which …", to a sentence that says how long it ran. False: blocks are what there is
 * to tell, and nothing was appended. */
bool resident_add(const struct report *r, const char *lead, struct str *to);
void resident_put(struct json *j, const struct report *r);
