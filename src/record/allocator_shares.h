/* SPDX-License-Identifier: MIT */
/* Which allocator a process called, written down when it is over. */
#pragma once

#include <stdint.h>

struct known_files;
struct pipeline_totals;
struct trace_writer;

/* Of each that was called and is known. */
void allocator_shares_write(struct trace_writer *w, const struct known_files *names,
                            uint32_t trace_process, const struct pipeline_totals *totals);
