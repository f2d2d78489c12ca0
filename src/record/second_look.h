/* SPDX-License-Identifier: MIT */
/* What of a process stays as it is for a moment: a scheduler that takes no turn, tasks that nobody runs (docs/tasks.md). Inside record/ only. */
#pragma once

#include <sys/types.h>

#include "reach/heap_graph.h"

/* Compares blocks that stacks lead to, and those with heads, in the copy that the graph was made of and in the process as it is now; waits
 * until it was copied long enough ago (copied_ns: clock_now_ns). Sets still, n_still and still_ns, or leaves them where the process cannot be read. */
void second_look_take(struct heap_graph *h, int copy_mem_fd, pid_t living, uint64_t copied_ns);
