/* SPDX-License-Identifier: MIT */
/* Can a process be copied (frozen.h) without harm to it? What /proc and its cgroups tell, before it is touched. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* 0, or -errno with the reason and with what would be needed. */
int frozen_check(pid_t pid, struct err *reterr);

/* A copy still fits, and soon will not: what is left of memory, by machine and cgroup, is at most a quarter more than one can need. */
bool frozen_is_last_chance(pid_t pid);
