/* SPDX-License-Identifier: MIT */
/* What each thread spent its time with (docs/cpu.md). */
#pragma once

#include "query/query.h"

struct query_thread_time {
        uint64_t cpu_ns, blocked_ns, ready_ns, n_samples;
};

/* Of the view's threads, one each, in *ret, the caller's; NULL: there are no ticks, or the filter asks for single blocks. */
int query_thread_times(struct query *q, const struct query_scope *scope,
                       struct query_thread_time **ret, struct err *reterr);

/* Of all threads together, over all of the recording; all 0: there are no ticks. */
int query_time_in_all(struct query *q, struct query_thread_time *ret, struct err *reterr);

/* Whether it was looked for who waited: a profile of another tool that has no wait at all does not tell. */
bool query_knows_waits(const struct query *q, const struct query_thread_time *in_all);
