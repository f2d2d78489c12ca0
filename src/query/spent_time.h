/* SPDX-License-Identifier: MIT */
/* Where the time went: ticks (docs/cpu.md) as answers about blocks are made of events.
 *
 *   scope.of_time = QUERY_CPU_TIME;
 *   query_ask(q, &scope, &answer, &err);      // figures: alloc_bytes are nanoseconds, n_allocs samples
 *
 * Totals, figures, groups and trees of such a scope are of time; sort them by QUERY_CPU or QUERY_BLOCKED. Nothing is folded
 * away on their call paths: the innermost frame is where the time went. A column of a history (query_history) has the time that
 * passed in it, in live_bytes; query_timeline and query_rates are of memory all the same, query_time_columns tells time by column. */
#pragma once

#include "query/query.h"

/* Of the time that a metric is about; QUERY_NO_TIME: it is about memory. */
enum query_time query_metric_time(enum query_metric m);
/* What a metric's figures count (enum trace_unit). */
uint32_t query_metric_unit(const struct query *q, enum query_metric m);

/* There are ticks, of any state. */
bool query_has_ticks(const struct query *q);
/* There are no allocations, and ticks: a profile of time alone. */
bool query_is_of_time(const struct query *q);
/* Its sums are no bytes: time, samples, or what nobody knows. Nobody requested them, and nothing is folded away here either. */
bool query_is_of_weights(const struct query *q);
/* Another tool recorded it, and did not know all. */
bool query_is_imported(const struct query *q);
/* Times of what was imported are multiples of it; 0: as exact as silt's own. */
uint64_t query_clock_step_ns(const struct query *q);
/* There is neither yet: it was cut off, or has just begun, before anything of what the program did was written. */
bool query_is_blank(const struct query *q);

/* Two paths are of one file: libraries are known by the name they were linked as to whoever is inside, and by where they lie from outside. */
bool query_is_same_module(const struct query *q, const char *a, const char *b);

/* Calls fn for each tick of the scope (of_time QUERY_NO_TIME: in any state) until it returns false. In the order of their times but for
 * a fraction of a second, or what timers were late for. Of a span without times that the window cuts, each has its share. */
typedef bool (*query_tick_fn)(void *ctx, const struct trace_tick *tick);
int query_each_tick(struct query *q, const struct query_scope *scope, query_tick_fn fn, void *ctx,
                    struct err *reterr);

/* Nanoseconds in each of n columns of equal width over the window: a tick ends where it is told, and a wait that the window cuts has its
 * part. */
int query_time_columns(struct query *q, const struct query_scope *scope, size_t n, double *ret_ns,
                       struct err *reterr);
