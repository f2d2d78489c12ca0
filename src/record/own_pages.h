/* SPDX-License-Identifier: MIT */
/* A look at where a process's own pages lie, for one that has more of them than its blocks explain: without what belongs to
 * files and stacks. What is left is of an allocator, seen or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"

struct ranges;

struct own_pages_area {
        uint64_t begin, end, anon_bytes;
};

struct own_pages {
        VEC(struct own_pages_area) areas; /* of a megabyte and more */
        uint64_t anon_bytes;              /* of all, files and stacks too */
        uint64_t small_bytes;             /* in smaller areas, which count as explained */
};

/* smaps holds the target's memory lock while it counts pages: seldom. */
bool own_pages_look(struct own_pages *r, pid_t pid);

/* The same from a file of that form. n_stacks: areas above a guard page that may be stacks of threads. */
void own_pages_parse(struct own_pages *r, FILE *smaps, uint32_t n_stacks);
void own_pages_done(struct own_pages *r);

/* Bytes in areas that the program did not map itself. */
uint64_t own_pages_unmapped_bytes(const struct own_pages *r, const struct ranges *mapped);
