/* SPDX-License-Identifier: MIT */
/* Which slot's record comes next in time: a heap of the slots that have words queued. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "pipeline/slot.h"

struct order {
        VEC(struct slot *) heap; /* by head_time, then number */
};

void order_add(struct order *o, struct slot *s);
void order_remove(struct order *o, struct slot *s); /* fine when it is not there */

static inline struct slot *order_first(const struct order *o) {
        return o->heap.n > 0 ? o->heap.items[0] : NULL;
}

/* The latest time up to which the first slot's records come before everyone else's. */
uint64_t order_run_end(const struct order *o);

/* The first slot's head moved on. */
void order_first_changed(struct order *o);
