/* SPDX-License-Identifier: MIT */
/* How much happened when. */
#pragma once

#include "query/query.h"

/* What was allocated (of_time: the time that passed so) in columns of equal width over the window. A slice is taken for even: a column shorter than it has its share. */
struct query_rate {
        double n_allocs, bytes;
};
/* From history; *ret_is_known = false where only blocks tell (the filter), and all are 0. */
int query_rates(struct query *q, const struct query_scope *scope, size_t n_columns,
                struct query_rate *ret, bool *ret_is_known, struct err *reterr);
