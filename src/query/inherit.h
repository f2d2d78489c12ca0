/* SPDX-License-Identifier: MIT */
/* Which releases of a forked child were of blocks it inherited. Rows do not say; the sequence
 * numbers of the events do: a child's own blocks are all younger than those it inherited. Only
 * asked when all processes are added up, and only slices in which a child releases at a site it
 * inherited from are read. Inside query/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct query;

struct inherit_release {
        size_t slice_idx;
        uint32_t process, stack;
        uint64_t n_frees, free_bytes;
};

struct inherit {
        VEC(struct inherit_release) releases; /* by slice */
        uint64_t
                *first_seq; /* one a process: of its own first block; UINT64_MAX when it has none */
        bool is_loaded;
        bool lacks_events; /* some were needed and are not in the file */
};

void inherit_load(struct query *q);
void inherit_done(struct inherit *h);
