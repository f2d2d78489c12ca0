/* SPDX-License-Identifier: MIT */
/* Heap graphs by chance, with owners and sequence numbers, the same for the same seed. */
#pragma once

#include "reach/heap_graph.h"
#include "reach/testing/draw.h"

void drawn_heap_make(struct draw *d, struct heap_graph *ret);
