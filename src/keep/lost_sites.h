/* SPDX-License-Identifier: MIT */
/* How much of what a call path allocated was lost, by the newest graph of a process: read when somebody asks. */
#pragma once

#include "base/map.h"
#include "query/query.h"

struct lost_sites {
        struct query *q;
        uint32_t process; /* QUERY_ALL: of any */
        bool is_read;
        struct map of_stack;
};

/* Definitely and indirectly lost, without what is suppressed; 0 too where there is no graph. ctx: struct lost_sites. */
uint64_t lost_sites_bytes(void *ctx, uint32_t stack);
void lost_sites_done(struct lost_sites *s);
