/* SPDX-License-Identifier: MIT */
/* Can a process be copied (frozen.h) without harm to it? What /proc and its cgroups tell, before it is touched. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* 0, or -errno with the reason and with what would be needed. */
int frozen_check(pid_t pid, struct err *reterr);
