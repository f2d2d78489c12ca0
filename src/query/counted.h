/* SPDX-License-Identifier: MIT */
/* What the processes of a sampled recording did, counted and not estimated. */
#pragma once

#include "query/query_internal.h"

/* Of all of the time: counts in place of estimates, if they are of all that is told. The share of complete stacks stays that of the samples. */
void counted_take(const struct query *q, uint32_t process, struct query_totals *t);
