/* SPDX-License-Identifier: MIT */
/* What is mapped where in a process (/proc/PID/maps). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct mapping {
        uint64_t begin, end, offset;
        bool is_code, is_readable, is_writable, is_shared;
        const char *path; /* "" none */
};

struct maps {
        VEC(struct mapping) list; /* by address */
        struct arena *arena;
};

int maps_read(struct maps *m, pid_t pid, struct err *reterr);
int maps_read_file(struct maps *m, const char *path,
                   struct err *reterr); /* a copy of such a file */
void maps_done(struct maps *m);

/* The file mapped there; "" none. */
const char *maps_path_at(const struct maps *m, uint64_t addr);

/* n_bytes of free address space at most reach_bytes from all of [begin, end), a multiple of align_bytes; marked as taken.
 * 0: there is none. */
uint64_t maps_take_room(struct maps *m, uint64_t begin, uint64_t end, uint64_t n_bytes,
                        uint64_t align_bytes, uint64_t reach_bytes);
