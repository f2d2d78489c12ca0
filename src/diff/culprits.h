/* SPDX-License-Identifier: MIT */
/* Who did it: the functions that are named below a check that failed. Inside diff/ only. */
#pragma once

#include "diff/check_measure.h"

/* f NULL: no stack is known. */
void culprit_add_frame(struct check_result *r, const struct diff_side *s,
                       const struct name_frame *f, bool is_task, double value);
void culprit_add(struct check_result *r, const struct diff_side *s, uint32_t stack, double value);
/* The functions that have most of a metric in an answer. */
void culprits_find(struct check *c, struct check_result *r, const struct query_answer *a,
                   enum query_metric m);
