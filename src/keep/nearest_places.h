/* SPDX-License-Identifier: MIT */
/* Of what several places hold together: the places from which the fewest pointers lead to it. Variables with a name come before others that
 * are as near. */
#pragma once

#include "keep/root_places.h"

enum { NEAREST_PLACES = 3 };

/* Of names that differ; REACH_NONE: no more. */
struct nearest_places {
        uint32_t of[NEAREST_PLACES];
};

/* ret: of each block. 0 or -ENOMEM. */
int nearest_places_find(const struct reach_graph *g, const struct root_places *places,
                        struct nearest_places *ret);
