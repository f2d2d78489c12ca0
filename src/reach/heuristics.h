/* SPDX-License-Identifier: MIT */
/* Interior pointers that keep a block as its first byte would: memcheck's four rules (docs/leaks.md). Inside reach/ only. */
#pragma once

#include "reach/memory_scan.h"

/* How a pointer to address, which is in b but not its first byte, points. */
enum reach_edge_kind heuristic_kind(const struct reach_memory *m, const struct reach_block *b,
                                    uint64_t address);
