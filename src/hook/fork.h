/* SPDX-License-Identifier: MIT */
/* A forked process: a process entry and rings of its own. */
#pragma once

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Has fork tell us before and after. Children of a raw clone or _Fork are found by the wiped
 * page alone. */
void fork_watch(void);

/* The first hook in a new process. False: it is not followed. */
bool fork_enter_child(void);

#pragma GCC visibility pop
