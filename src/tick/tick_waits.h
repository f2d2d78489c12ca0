/* SPDX-License-Identifier: MIT */
/* Time off the CPU, by call path: a sample when a thread leaves its CPU says where, the records of leaving and coming back say for how
 * long and whether it was made to leave. A short wait without a sample of its own goes with the next one of the same thread that was about
 * as long, so that the sum stays exact: there are many of them, if there are any. A long one is of its own, at no call path if nobody looked where.
 * Inside tick/ only. */
#pragma once

#include "tick/tick_tasks.h"

/* pcs are copied: kernel frames, then the program's. */
void tick_wait_place(struct tick_thread *t, const struct ticker_path *path);
void tick_wait_begin(struct tick_thread *t, uint64_t time_ns, bool is_preempted);
/* The part of a wait up to time_ns that was not told yet; it goes on. False: there is none to tell. */
bool tick_wait_take(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret);
/* The same, and the wait is over. */
bool tick_wait_end(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret);
/* Waits for which no call path came, of those that have been kept since before_ns or longer: told at none. False: no more of them. */
bool tick_wait_take_bare(struct tick_thread *t, uint64_t before_ns, uint64_t time_ns,
                         struct ticker_tick *ret);
/* A wait that goes on is told of in parts, each an eighth of it: when the next is due. UINT64_MAX: it does not wait. */
/* It waits for a while and nothing said where: a look may tell. */
bool tick_wait_wants_look(const struct tick_thread *t, uint64_t time_ns);
uint64_t tick_wait_due_ns(const struct tick_thread *t);
