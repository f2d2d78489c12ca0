/* SPDX-License-Identifier: MIT */
/* Where threads were spawned: glibc requests a table for the variables of a new thread while pthread_create runs, and the thread begins right after. A thread
 * on a stack that glibc had kept has no such request, so where it came from is not known. Inside task/ only. */
#pragma once

#include "query/query.h"

/* Of each thread of the view the stack of its request; 0: not known. The caller's. Nothing is known of any (all 0) where some threads or some requests may
 * not be in the trace. */
uint32_t *thread_spawns_find(struct query *q, uint32_t process);
