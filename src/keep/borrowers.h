/* SPDX-License-Identifier: MIT */
/* Roots that only borrow. A thread that works on what a variable holds has pointers to it on its stack for a moment, and an allocator's own
 * tables know every large block: neither is who keeps it. So variables and thread-local data count first, threads only for what these do not
 * reach, and other mappings and allocators only for the rest. */
#pragma once

#include <stdbool.h>

#include "keep/root_places.h"

/* ret: of each root, whether it counts. of_root: its place. 0 or -ENOMEM. */
int borrowers_find(const struct reach_graph *g, const struct root_place *places,
                   const uint32_t *of_root, bool *ret);
