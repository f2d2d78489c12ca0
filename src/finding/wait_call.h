/* SPDX-License-Identifier: MIT */
/* Which function a thread waits in, as people call it: of the C library's the one that was called, and where that is no more than a system call, what it was made
 * for: a lock, a channel, a thread that parks. */
#pragma once

#include "name/name.h"
#include "query/query_frame.h"

/* Innermost first, without the kernel's; n: there is none. */
size_t wait_call_find(struct names *names, const struct query_frame *frames, size_t n);

/* The C library's, or the loader's. */
bool wait_is_system(const char *module);
/* Of a library that waits on behalf of others: Rust's own, and those that make locks, channels and pollers. */
bool wait_is_passed_on(const char *function);
