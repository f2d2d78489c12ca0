/* SPDX-License-Identifier: MIT */
/* Addresses that a program has ever mapped itself: what lies there was seen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct range {
        uint64_t begin, end;
};

struct ranges {
        VEC(struct range) list; /* in order, none touches another */
        bool is_full;           /* there were too many: nothing is known of the others */
};

void ranges_add(struct ranges *r, uint64_t begin, uint64_t end);
void ranges_copy(struct ranges *to, const struct ranges *from);
void ranges_done(struct ranges *r);

/* Of [begin, end), how many bytes. */
uint64_t ranges_overlap_bytes(const struct ranges *r, uint64_t begin, uint64_t end);
