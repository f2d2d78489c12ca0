/* SPDX-License-Identifier: MIT */
/* Descendants of the target that have not reported: just forked or spawned, or impossible to enter.
 * They are recognised by the rendezvous in their environment. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) unreported;

/* Pids of living processes whose environment names this rendezvous. *ret_n_unclear: those younger than since_s (since boot)
 * whose environment cannot be told yet, because they are in the middle of an exec. */
void unreported_find(unreported *ret, size_t *ret_n_unclear, const char *rendezvous_env,
                     double since_s);
