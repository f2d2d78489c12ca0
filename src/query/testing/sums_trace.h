/* SPDX-License-Identifier: MIT */
/* For tests: a recording of totals. At each of SUMS_N_MOMENTS moments, SUMS_STEP_NS apart, main has allocated 10 blocks of
 * 500 bytes more, and parse, which it calls, 10 of 1,000; each released 3 of them. */
#pragma once

#include <stdint.h>

enum { SUMS_N_MOMENTS = 6, SUMS_STEP_NS = 100000000 };

void sums_trace_write(const char *path);
/* The same as of another tool: with more flags (enum trace_flags), in another unit (enum trace_unit). */
void sums_trace_write_as(const char *path, uint32_t flags, uint32_t unit);
