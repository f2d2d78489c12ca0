/* SPDX-License-Identifier: MIT */
/* What lies where in one memory: what is put over others takes their place. In leaves of bounded size, so that each of very many costs no more
 * than each of a few. Zero-initialise it. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { ADDRESS_RANGES_LEAF = 256 }; /* in one leaf at most */

struct address_range {
        uint64_t begin, end, offset;
        uint32_t owner; /* whose number the caller knows */
};

struct address_ranges_leaf {
        struct address_range *items; /* sorted, room for ADDRESS_RANGES_LEAF */
        size_t n;                    /* at least 1 */
};

struct address_ranges {
        VEC(struct address_ranges_leaf) leaves;
        size_t n; /* of all leaves */
};

void address_ranges_done(struct address_ranges *m);
/* to is empty. */
void address_ranges_copy(struct address_ranges *to, const struct address_ranges *from);
/* begin < end. */
void address_ranges_put(struct address_ranges *m, const struct address_range *x);
/* NULL: nothing is there. Valid until the next put. */
const struct address_range *address_ranges_at(const struct address_ranges *m, uint64_t address);
