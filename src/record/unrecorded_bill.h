/* SPDX-License-Identifier: MIT */
/* The bill of a process that nobody records: mappings and pages as the kernel has them, blocks as its allocators' own data have them (sizes are what a block can hold), without call
 * paths. For the blocks the process is copied (attach/frozen.h) and runs on: it stands still for some milliseconds. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "resident/resident.h"

/* Where it cannot be copied safely, or its allocator cannot be listed, blocks are not known (has_blocks), and *ret_why says why; else that is empty. */
int unrecorded_bill_take(pid_t pid, struct resident *ret, struct err *ret_why, struct err *reterr);
