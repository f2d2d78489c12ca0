/* SPDX-License-Identifier: MIT */
/* Of what several places hold together: the place from which the fewest pointers lead to it. A variable with a name comes before others that
 * are as near. */
#pragma once

#include "keep/root_places.h"

/* ret: of each block, a place; REACH_NONE: nothing leads to it. 0 or -ENOMEM. */
int nearest_places_find(const struct reach_graph *g, const struct root_places *places,
                        uint32_t *ret);
