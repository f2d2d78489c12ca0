/* SPDX-License-Identifier: MIT */
/* A look at a thread that waits and of which no sample came: it waited before anybody looked, or samples of waits are not permitted. Its
 * place comes from /proc and from its memory, without stopping it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "remote/remote_walk.h"

/* True: it sleeps, or stands still. */
bool tick_look_is_off(pid_t pid, pid_t tid);
/* True: it is there and not about to end, though the kernel says that its events are over. */
bool tick_look_lives_on(pid_t pid, pid_t tid);
/* What the kernel counted of its time in system calls and the like, in steps of 10 ms; false: it is gone. */
bool tick_look_kernel_ns(pid_t pid, pid_t tid, uint64_t *ret);
/* What it ran by the kernel's own count, which leaves out what others took from a virtual machine. It moves when the thread leaves its
 * CPU or the kernel's clock ticks. False: it is gone, or the kernel does not count (before 5.14, with nodelayacct). */
bool tick_look_ran_ns(pid_t pid, pid_t tid, uint64_t *ret);
/* The return addresses of a thread that is in a system call; 0: it is not, or may not be looked at. One that goes on meanwhile
 * is noticed, and then there are none either. */
size_t tick_look_walk(pid_t pid, pid_t tid, struct remote_space *space, uint64_t *ret_pcs,
                      size_t cap, enum remote_end *ret_end);
