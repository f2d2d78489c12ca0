/* SPDX-License-Identifier: MIT */
/* What goes through a function, where its tree is not wanted. */
#pragma once

#include "query/query.h"

/* What the call paths of an answer have that go through the function, as the tree of its callers has it at its root. -ENOENT: none
 * does. */
int query_through(struct query *q, const struct query_answer *a, const char *function,
                  enum query_metric m, struct query_figures *ret, struct err *reterr);
