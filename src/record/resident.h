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

struct resident_area {
        uint64_t begin, end, anon_bytes;
};

struct resident {
        VEC(struct resident_area) areas; /* of a megabyte and more */
        uint64_t anon_bytes;             /* of all, files and stacks too */
        uint64_t small_bytes;            /* in smaller areas, which count as explained */
};

/* smaps holds the target's memory lock while it counts pages: seldom. */
bool resident_look(struct resident *r, pid_t pid);

/* The same from a file of that form. n_stacks: areas above a guard page that may be stacks of threads. */
void resident_parse(struct resident *r, FILE *smaps, uint32_t n_stacks);
void resident_done(struct resident *r);

/* Bytes in areas that the program did not map itself. */
uint64_t resident_unmapped_bytes(const struct resident *r, const struct ranges *mapped);
