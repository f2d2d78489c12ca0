/* SPDX-License-Identifier: MIT */
/* Can a process be copied (frozen.h) without harm to it? What /proc and its cgroups tell, before it is touched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* 0, or -errno with the reason and with what would be needed. */
int frozen_check(pid_t pid, struct err *reterr);

/* What a copy could need, and what the machine and its groups have left. */
struct frozen_room {
        uint64_t need_bytes, left_bytes;
};

/* False: nobody knows. */
bool frozen_room(pid_t pid, struct frozen_room *ret);
