/* SPDX-License-Identifier: MIT */
/* What the memory cgroup of a process says, version 1 or 2: of the group nearest to it that has figures. */
#pragma once

#include <sys/types.h>

#include "resident/resident.h"

/* proc_root and cgroup_root are "/proc" and "/sys/fs/cgroup" but for tests. Nothing is filled where there is no such group. */
void resident_group(struct resident *r, pid_t pid, const char *proc_root, const char *cgroup_root);
