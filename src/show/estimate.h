/* SPDX-License-Identifier: MIT */
/* Words for recordings of samples (docs/sampling.md): what is estimated says so, and how far it may be off. */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "query/query.h"

/* " ±3 %": the standard error of a figure, as a share of it; nothing where it is exact. */
void estimate_add_error(struct str *to, double error, double value, bool utf8);

/* The sentence about it; windows have no exact counts. Nothing for a recording of everything. */
void estimate_add_sentence(struct str *to, const struct query *q, bool is_tallied);

/* JSON: standard errors of totals; what was sampled and what that cost. Nothing for a recording of everything. */
void estimate_put_totals(struct json *j, const struct query *q, const struct query_totals *t);
void estimate_put(struct json *j, const struct query *q, const struct query_answer *a);

/* CPU time that silt took, inside the target and beside it, and that the target used with it; 0: not known. */
struct estimate_cost {
        uint64_t inside_ns, beside_ns, target_ns;
        double pct; /* of what the target used without it */
};
struct estimate_cost estimate_cost(const struct query *q);
