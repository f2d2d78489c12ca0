/* SPDX-License-Identifier: MIT */
/* The frame of a call path that requested the memory, for tables with a row for each. Inside export/ only. */
#pragma once

#include "query/query.h"

/* All "" where there is none. */
struct query_frame site_frame(struct query *q, uint32_t stack);
