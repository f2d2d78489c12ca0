/* SPDX-License-Identifier: MIT */
/* How much happened when. */
#pragma once

#include "query/query.h"

/* What was allocated in columns of equal width over the window. A slice is taken for even: a column shorter than it has its share. */
struct query_rate {
        double n_allocs, bytes;
};
/* From history; *ret_is_known = false where only blocks tell (the filter), and all are 0. */
int query_rates(struct query *q, const struct query_scope *scope, size_t n_columns,
                struct query_rate *ret, bool *ret_is_known, struct err *reterr);

/* The same of what was allocated, without a filter; slices that lie in more than one column are counted event by event, as long as no more than max_events
 * are read for it. *ret_is_exact: so were all of them. Those of a recording of samples are never. */
int query_exact_rates(struct query *q, const struct query_scope *scope, size_t n_columns,
                      uint64_t max_events, struct query_rate *ret, bool *ret_is_exact,
                      struct err *reterr);
