/* SPDX-License-Identifier: MIT */
/* How much of an answer has a function of some name on its call path, and how much of that in a frame that people are shown: the
 * rest is in frames that the rules of names fold away. */
#pragma once

#include "query/query.h"

struct query_found {
        int64_t whole;       /* of all call paths, by the metric */
        int64_t value;       /* of those with such a function */
        int64_t shown_value; /* of those where it is shown */
        size_t n_paths, n_shown_paths;
};

/* pattern: as the condition "function" takes it, also held against names as they are shown. is_full: nothing is folded away. */
int query_find_paths(struct query *q, const struct query_answer *a, enum query_metric metric,
                     const char *pattern, bool is_full, struct query_found *ret,
                     struct err *reterr);
