/* SPDX-License-Identifier: MIT */
/* What the heap really had resident, as the recording's bill with the largest heap says, the last of equal ones: by that a replay under the recorded allocator is judged. Inside replay/ only. */
#pragma once

#include "query/query.h"

struct recorded_heap {
        uint64_t rss_bytes; /* 0: unknown */
        uint64_t time_ns;
};

/* Bills whose blocks are unknown, and those that cannot be read, are left out. */
void recorded_heap_read(struct recorded_heap *h, struct query *q, uint32_t process);

/* Whether a replay that had between these two around that moment is farther from it than whatif promises. */
bool recorded_heap_is_far(const struct recorded_heap *h, uint64_t least_bytes, uint64_t most_bytes);
