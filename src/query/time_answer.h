/* SPDX-License-Identifier: MIT */
/* Questions about time (struct query_scope, of_time). Inside query/ only. */
#pragma once

#include "query/query_internal.h"
#include "query/spent_time.h"

/* query_ask; is_split: the sites of each process apart. */
int time_ask(struct query *q, const struct query_scope *scope, bool is_split,
             struct query_answer **ret, struct err *reterr);
/* The figures of one tick. */
void time_add(struct query_figures *f, const struct trace_tick *tick, enum query_time time);

/* Calls fn for each part of a tick that lies in one of n columns of equal width over the scope's window: a tick ends where it is told, and
 * a wait lasts over many columns. */
typedef void (*time_part_fn)(void *ctx, const struct trace_tick *tick, size_t column, double ns);
int time_each_part(struct query *q, const struct query_scope *scope, size_t n, time_part_fn fn,
                   void *ctx, struct err *reterr);
