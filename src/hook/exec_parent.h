/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* In a child that shares this process's memory: whether its parent, the thread that had this number, waits for it to end or to
 * run a program (vfork). False: it runs, or that cannot be told. */
bool exec_parent_waits(uint32_t tid);

#pragma GCC visibility pop
