/* SPDX-License-Identifier: MIT */
/* Descendants of the target that have not reported: just forked or spawned, or impossible to enter.
 * They are recognised by the rendezvous in their environment; children of a process that was attached to, which has none, by the arena they inherit. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) unreported;

/* Pids of living processes whose environment names this rendezvous. *ret_n_unclear: those younger than since_s (since boot)
 * whose environment cannot be told yet, because they are in the middle of an exec. */
void unreported_find(unreported *ret, size_t *ret_n_unclear, const char *rendezvous_env,
                     double since_s);

/* Pids of living processes younger than since_s that have memory of this one's mapped, silt's own left out: a child that has not run since its fork is there
 * already. */
void unreported_find_heirs(unreported *ret, double since_s);
