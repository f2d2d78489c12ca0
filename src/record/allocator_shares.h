/* SPDX-License-Identifier: MIT */
/* Which allocator a process called, written down when it is over. */
#pragma once

#include <stdint.h>

struct known_files;
struct pipeline_totals;
struct trace_writer;

/* Nothing where all calls went to the allocator that the loader gives everybody. */
void allocator_shares_write(struct trace_writer *w, const struct known_files *names,
                            uint32_t trace_process, const struct pipeline_totals *totals);
