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
