/* SPDX-License-Identifier: MIT */
/* What recording itself takes: told in the trace, and, with --budget, kept within bounds. */
#pragma once

#include <stdint.h>

struct recorder;

void own_cost_tell(struct recorder *r, uint64_t now_ns);

/* Rows of the recorder's observers. */
uint64_t own_cost_observe(void *recorder, uint64_t now_ns);
uint64_t own_cost_due(const void *recorder);
uint64_t own_cost_keep_budget(void *recorder, uint64_t now_ns);
uint64_t own_cost_budget_due(const void *recorder);

/* At the end: says so where the budget was not kept. */
void own_cost_judge_budget(struct recorder *r);
