/* SPDX-License-Identifier: MIT */
/* Which allocators made what, where there are several. Inside report/ only. */
#pragma once

#include "report/gather.h"

/* "jemalloc 5.3.0 in ./node: 98.1 % of the allocations, 99 % of the bytes; glibc: …". False: there is only one, or the
 * trace does not say. */
bool allocators_tell(const struct report *r, struct str *to);
void allocators_put(struct json *j, const struct report *r);
