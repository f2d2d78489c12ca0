/* SPDX-License-Identifier: MIT */
/* What leads where, found by walking anew for each question. */
#pragma once

#include <stdbool.h>

#include "reach/reach_graph.h"

/* Of each node: can it be reached from a root if the nodes marked in `without` (NULL: none) are gone? Free it. */
bool *brute_reached(const struct reach_graph *g, const bool *without);
/* dominates[a * n_nodes + b]: both are reached, and b is not without a. A node dominates itself. Free it. */
bool *brute_dominates(const struct reach_graph *g);
