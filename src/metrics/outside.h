/* SPDX-License-Identifier: MIT */
/* What the kernel and the allocators of a process say at this moment, which is not in the trace: read from outside, while it runs. Nothing is
 * stopped or called. Inside metrics/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OUTSIDE_UNKNOWN UINT64_MAX

enum outside_allocator { OUTSIDE_GLIBC, OUTSIDE_JEMALLOC, OUTSIDE_MIMALLOC, OUTSIDE_N_ALLOCATORS };
extern const char *const outside_allocator_names[OUTSIDE_N_ALLOCATORS];

/* docs/metrics.md says what each is. */
struct outside_books {
        bool is_known;
        uint64_t allocated_bytes, active_bytes;
        uint64_t metadata_bytes, resident_bytes, retained_bytes; /* OUTSIDE_UNKNOWN */
};

struct outside {
        uint64_t swap_bytes, limit_bytes, usage_bytes, file_bytes, stall_us; /* OUTSIDE_UNKNOWN */
        struct outside_books books[OUTSIDE_N_ALLOCATORS];
        uint64_t next_books_ns; /* they are not read before: it takes time */
};

/* Whether the pid is, on this machine and at this moment, a process of that program (the path in the trace). */
bool outside_is_there(pid_t pid, const char *exe);
/* Zeroed before the first time. */
void outside_look(struct outside *o, pid_t pid);
