/* SPDX-License-Identifier: MIT */
/* A look at the memory of a process from outside, as the kernel tells it. It is not stopped, not written to and not asked; the kernel holds its memory lock for reading
 * while it counts, one mapping at a time. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "resident/resident.h"
#include "resident/resident_smaps.h"

/* Areas, sums, cgroup. Live blocks are not known: heap has rss and swap alone. On an error nothing is to be freed. */
int resident_take(struct resident *r, pid_t pid, struct err *reterr);

/* The same for who has pages to look at, too: areas are not capped, and what is known besides stays open. Both are to be freed, also on an error. */
int resident_look(struct resident *r, struct smaps_context *c, pid_t pid, struct err *reterr);
