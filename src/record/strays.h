/* SPDX-License-Identifier: MIT */
/* Descendants of the target that have not reported: just forked or spawned, or impossible to enter.
 * They are recognised by the rendezvous in their environment. */
#pragma once

#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) strays;

/* Pids of living processes whose environment names this rendezvous. */
void strays_find(strays *ret, const char *rendezvous_env);
