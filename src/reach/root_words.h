/* SPDX-License-Identifier: MIT */
/* Roots as they are told: each word that points to a block is a root of its own, so that it can have a name. */
#pragma once

#include "reach/heap_graph.h"
#include "reach/memory_scan.h"

/* Makes the scanned graph one whose roots are single words, and gives it its own copy of the blocks. Takes the edges out of `scanned`. 0 or -ENOMEM. */
int root_words_split(struct reach_scanned *scanned, struct heap_graph *ret);
