/* SPDX-License-Identifier: MIT */
/* How long a thread ran, and how much of it its samples stand for. The records of its coming and going tell the first; where the host of a
 * virtual machine takes the CPU they count what others had. What the kernel counts for the thread (a count) is its own alone, but behind by up to a
 * tick of the kernel's clock while it runs. So what was counted surely was the thread's, and what was not counted when the next tick had come surely was
 * others': between the two nothing is told before it is known, or the thread ends. Inside tick/ only. */
#pragma once

#include "tick/tick_tasks.h"

/* Instead of a count: the kernel does not tell. Then all that it ran is the thread's. */
#define TICK_NO_COUNT UINT64_MAX

/* It begins to run, runs no longer; a sample stands for the period before time_ns. */
void tick_run_begin(struct tick_thread *t, uint64_t time_ns);
void tick_run_end(struct tick_thread *t, uint64_t time_ns);
void tick_run_sample(struct tick_thread *t, uint64_t period_ns, uint64_t time_ns);

/* It has run for more than its samples and slack_ns by time_ns, or nobody has looked yet: a count would tell. */
bool tick_run_wants_count(const struct tick_thread *t, uint64_t slack_ns, uint64_t time_ns);
/* The kernel had counted so much of it at time_ns, wherever it began. Its records until then may be still to come. */
void tick_run_count(struct tick_thread *t, uint64_t counted_ns, uint64_t time_ns);
/* All its records up to time_ns have come. */
void tick_run_settle(struct tick_thread *t, uint64_t time_ns);

/* What it ran beyond its samples up to time_ns, all but what surely was others'; 0: it is not known. */
uint64_t tick_run_unsampled_ns(const struct tick_thread *t, uint64_t time_ns);
/* Of that what surely was its own, beyond kept_ns that its clocks have yet to sample. */
uint64_t tick_run_owed_ns(const struct tick_thread *t, uint64_t kept_ns, uint64_t time_ns);
/* Of what is owed that which a sample at time_ns stands for beyond its period. */
uint64_t tick_run_take_late(struct tick_thread *t, uint64_t period_ns, uint64_t kept_ns,
                            uint64_t time_ns);
/* When the last of such ns were: at most max_ns of them are told as one tick, which ends at *ret_end_ns. How many. Where no gap is known they are all of time_ns. */
uint64_t tick_run_place_late(struct tick_thread *t, uint64_t ns, uint64_t max_ns, uint64_t time_ns,
                             uint64_t *ret_end_ns);
/* ns of it at no call path: it counts as sampled from now on. */
void tick_run_take(struct tick_thread *t, uint64_t ns, uint64_t time_ns, struct ticker_tick *ret);
/* All that is unsampled, of a thread that ends, part by part. False: nothing more, or it is not known. */
bool tick_run_take_rest(struct tick_thread *t, uint64_t time_ns, struct ticker_tick *ret);
