/* SPDX-License-Identifier: MIT */
/* A program has let most of its memory go when it ends: the graph near its peak says who held it. */
#pragma once

#include "base/str.h"
#include "query/query.h"

/* Whether the graph was taken as the program was about to end. */
bool high_graph_is_exit(struct query *q, size_t graph_idx);

/* The last of the process that was taken because much was live for a while; SIZE_MAX: there is none. */
size_t high_graph_find(struct query *q, uint32_t process);

/* Whether what is left at the end is so much less than the peak that it does not speak for it. */
bool high_graph_matters(uint64_t end_bytes, uint64_t peak_bytes);

/* The most that was live in the process until then. */
uint64_t high_graph_peak_bytes(struct query *q, uint32_t process, uint64_t to_ns);
